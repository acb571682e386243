"""Where rewards come from: problems drawn from a seed."""
