"""The decision service: policies behind HTTP, their events in a log, their state a fold of it."""
