"""What keeps us safe: the ledger, the past bounds, the selections, the schedules."""
