"""Policies without a promise, for guards to watch over: one file each, made by name."""
