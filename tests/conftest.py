"""Settings all tests share."""

from __future__ import annotations

from hypothesis import settings

# Seeded (derandomised), so that a red test is red again; no deadline, because the first example
# of a test may compile.
settings.register_profile("handrail", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("handrail")

# Fixtures live in modules with names of their own: tests are modules too, found by name.
pytest_plugins = ["client_fixtures", "service_fixtures"]
