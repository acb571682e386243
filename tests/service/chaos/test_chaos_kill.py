"""kill -9 under load: what was answered is there after the next start, and nothing is twice."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from service_load import Ledger, Load, create_policies
from service_processes import Server, child_environment, seeded
from service_truth import audit, check, finish, fold_again, repeat

OFTEN = {"limits": {"snapshot_every": 50}}


@pytest.mark.parametrize(
    ("kills", "seed"), [(3, 1), pytest.param(50, 2, marks=pytest.mark.long)], ids=["3", "50"]
)
def test_killed_under_load(kills: int, seed: int, tmp_path: Path) -> None:
    database, log = str(tmp_path / "log.db"), tmp_path / "server.log"
    ledger = Ledger()
    key = ""
    with seeded(seed) as rng:
        for turn in range(kills + 1):
            if kills > 5 and rng.random() < 0.2:  # killed before it is ready
                with Server(database, log, key) as server:
                    key = server.listening().key
                    server.kill()
            # Every other server takes snapshots all the time, so that kills hit them as well.
            with Server(database, log, key, OFTEN if turn % 2 else None) as server:
                key = server.ready().key
                with server.asker() as asker:
                    if turn == 0:
                        create_policies(server)
                    check(asker, ledger)
                    finish(asker, ledger)
                    repeat(asker, ledger, rng)
                    if turn == kills:
                        heads = check(asker, ledger)
                        break
                with Load([server], ledger, f"{rng.random()}") as load:
                    load.until_answered(rng.randrange(1, 500))
                    threading.Event().wait(rng.random() * 0.01)  # not only right after an answer
                    server.kill()
                # What kills leave beside the database does not add up.
                assert (tmp_path / "log.db-wal").stat().st_size < 40_000_000
        assert len(ledger.calls) > 100 * kills
        assert fold_again(database, heads) > 0
        audit(database)


@pytest.mark.long
def test_killed_while_it_makes_its_database(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with seeded(10) as rng:
        for turn in range(10):
            database = str(tmp_path / f"{turn}.db")
            for _ in range(2):
                with Server(database, log) as server:
                    threading.Event().wait(rng.uniform(0.2, 1.5))
                    server.kill()
            made = subprocess.run(
                [
                    *(sys.executable, "-m", "handrail", "keys", "create"),
                    *("--role", "admin", "--database", database),
                ],
                env=child_environment(),
                capture_output=True,
                text=True,
                check=True,
            )
            found = re.search(r"hr_\w+", made.stdout)
            assert found is not None
            if turn == 0:
                with Server(database, log, found[0]) as server:
                    create_policies(server.ready())
