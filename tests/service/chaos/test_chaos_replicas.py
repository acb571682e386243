"""Three servers on one PostgreSQL: one is killed, one is paused, and the log stays one log."""

from __future__ import annotations

import random
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from postgres_server import PostgresServer
from service_load import POLICIES, Ledger, Load, create_policies
from service_processes import Server, seeded, until
from service_truth import audit, check, finish, fold_again, repeat

QUICK: dict[str, Any] = {
    "limits": {"snapshot_every": 200},
    "patience": {"idle": 1.0, "lock": 10.0, "statement": 15.0},
}
"""A server that is paused loses its locks after a second; as shipped, after five."""


def start(url: str, log: Path, number: int, key: str, options: Any) -> Server:
    """Start a server whose connections tell which one it is."""
    return Server(f"{url}&application_name=replica-{number}", log, key, options)


def pause_with_a_lock(postgres: PostgresServer, server: Server, number: int) -> None:
    """Pause a server while it is in the middle of a transaction, and has a policy's lock."""

    def paused() -> bool:
        server.signal(signal.SIGSTOP)
        holds = postgres.run(
            "SELECT 1 FROM pg_stat_activity JOIN pg_locks USING (pid) "
            f"WHERE application_name = 'replica-{number}' AND state = 'idle in transaction' "
            "AND relation::regclass::text LIKE '%handrail_policies' AND mode = 'RowShareLock'"
        )
        if not holds:
            server.signal(signal.SIGCONT)
        return bool(holds)

    until("a server was paused in a transaction", paused)


@pytest.mark.parametrize(
    ("turns", "options", "seed"),
    [(1, QUICK, 3), pytest.param(8, None, 4, marks=pytest.mark.long)],
    ids=["once", "often"],
)
def test_one_is_killed_and_one_is_paused(
    turns: int, options: Any, seed: int, postgres: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "servers.log"
    ledger = Ledger()
    with seeded(seed) as rng, ExitStack() as stack:
        servers = [stack.enter_context(start(postgres_url, log, 0, "", options)).ready()]
        key = servers[0].key
        create_policies(servers[0])
        others = [stack.enter_context(start(postgres_url, log, i, key, options)) for i in (1, 2)]
        servers += [server.ready() for server in others]
        for turn in range(turns):
            _disturb(rng, turn, servers, postgres, ledger)
            # The one that was killed comes back.
            for number, server in enumerate(servers):
                if server.process.poll() is not None and turn + 1 < turns:
                    again = start(postgres_url, log, number, key, options)
                    servers[number] = stack.enter_context(again).ready()
        alive = [server for server in servers if server.process.poll() is None]
        with alive[0].asker() as asker:
            finish(asker, ledger)
            repeat(asker, ledger, rng)
        heads = []
        for server in alive:
            with server.asker() as asker:
                heads.append(check(asker, ledger))
        assert heads[0] == heads[1]
    fold_again(postgres_url, heads[0])
    audit(postgres_url)


def _disturb(
    rng: random.Random, turn: int, servers: list[Server], postgres: PostgresServer, ledger: Ledger
) -> None:
    killed, paused, left = rng.sample(range(3), 3)
    seed = f"{rng.random()}"
    with Load(servers, ledger, seed, workers=6, patient=True, timeout=3.0) as load:
        load.until_answered(rng.randrange(20, 200))
        for server in servers:
            load.until_answered(5, server=server)
        servers[killed].kill()
        load.until_answered(50)
        refused = load.refused(servers[left])
        pause_with_a_lock(postgres, servers[paused], paused)
        # The other one goes on with each policy, after a wait and without an error.
        load.until_answered(10, POLICIES, servers[left])
        assert load.refused(servers[left]) == refused
        servers[paused].signal(signal.SIGCONT)
        load.until_answered(30, server=servers[paused])
    assert servers[paused].is_ready()
