"""Databases for the tests of the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.service.store.open import open_store
from handrail.service.store.protocol import Store
from postgres_server import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that runs as long as the tests do."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty schema in it."""
    with postgres.schema() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a database that does not exist yet, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "log.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(source: str) -> Iterator[Store]:
    """A new database of either kind, as a server opens it."""
    opened = open_store(source, exclusive=True)
    yield opened
    opened.close()
