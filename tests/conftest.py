"""Settings all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Seeded (derandomised), so that a red test is red again; no deadline, because the first example
# of a test may compile.
settings.register_profile("handrail", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("handrail")

# What these find wrong is shown in full, as it is in tests.
pytest.register_assert_rewrite("service_load", "service_processes", "service_truth")

# Fixtures live in modules with names of their own: tests are modules too, found by name.
pytest_plugins = ["client_fixtures", "service_fixtures"]


@pytest.fixture(autouse=True, scope="session")
def no_power_is_cut() -> Iterator[None]:
    """Leave out waiting for the disk in this process: no test cuts the power, and it is a tenth.

    SQLite and the processes that tests start do wait; tests of a failing fsync put in their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield
