"""Benchmarks: handrail side by side with others in one run. `python -m benchmarks`."""
