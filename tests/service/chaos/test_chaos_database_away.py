"""The database goes away and comes back: 503 meanwhile, and nobody has to restart anything."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postgres_server import PostgresServer
from service_load import Ledger, Load, create_policies
from service_processes import Server, seeded, until
from service_truth import audit, check, finish, fold_again, repeat


def test_postgres_is_stopped_and_started(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    if not postgres.ours:
        pytest.skip("the PostgreSQL that the environment names is not ours to stop")
    ledger = Ledger()
    with seeded(5) as rng, Server(postgres_url, tmp_path / "server.log") as server:
        create_policies(server.ready())
        with server.asker() as asker:
            for turn in range(2):
                with Load([server], ledger, f"{rng.random()}", patient=True) as load:
                    load.until_answered(rng.randrange(50, 200))
                    postgres.stop()
                    try:
                        until("requests are refused", lambda: load.refused(server) > 10)
                        until("it is not ready", lambda: not server.is_ready())
                        assert ledger.is_refused(asker)
                        assert asker.ask("GET", "/healthz").status == 200
                        assert asker.ask("GET", "/v1/policies/arms/decisions").status == 503
                        if turn == 1:  # nobody asks for anything when it comes back
                            load.end()
                    finally:
                        postgres.start()
                    until("it is ready again", server.is_ready)
                    if turn == 0:
                        load.until_answered(100)
            finish(asker, ledger)
            repeat(asker, ledger, rng)
            heads = check(asker, ledger)
    fold_again(postgres_url, heads)
    audit(postgres_url)


def test_told_to_stop_while_postgres_hangs(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    if not postgres.ours:
        pytest.skip("the PostgreSQL that the environment names is not ours to pause")
    ledger = Ledger()
    url = f"{postgres_url}&application_name=hangs"
    options = {"limits": {"shutdown_seconds": 1.0}, "patience": {"statement": 5.0}}
    with seeded(11) as rng, Server(url, tmp_path / "server.log", options=options) as server:
        create_policies(server.ready())
        with Load([server], ledger, f"{rng.random()}", refusable=True) as load:
            load.until_answered(rng.randrange(20, 100))
            with paused(postgres, "hangs"):
                server.process.terminate()
                assert server.wait(120) == 0
    assert ledger.open
    with (
        Server(url, tmp_path / "server.log", server.key) as server,
        server.ready().asker() as asker,
    ):
        check(asker, ledger)
        finish(asker, ledger)
        heads = check(asker, ledger)
    fold_again(postgres_url, heads)


@contextmanager
def paused(postgres: PostgresServer, application: str) -> Iterator[None]:
    """Pause what serves an application's connections, so that nothing ends or fails."""
    found = postgres.run(
        f"SELECT pid FROM pg_stat_activity WHERE application_name = '{application}'"
    )
    assert found
    for (pid,) in found:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for (pid,) in found:
            os.kill(pid, signal.SIGCONT)
