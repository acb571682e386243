"""The database goes away and comes back: 503 meanwhile, and nobody has to restart anything."""

from __future__ import annotations

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
