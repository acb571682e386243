"""Told to stop under load, a server answers what it took and leaves; and there is only one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from handrail.service.limits import Limits
from service_load import Ledger, Load, create_policies
from service_processes import Server, child_environment, seeded
from service_truth import audit, check, fold_again


def test_told_to_stop_under_load(tmp_path: Path) -> None:
    database, log = str(tmp_path / "log.db"), tmp_path / "server.log"
    ledger = Ledger()
    with seeded(8) as rng:
        with Server(database, log) as server:
            create_policies(server.ready())
            key = server.key
            # A second server is refused while the first one runs, whatever it is doing.
            refused = subprocess.run(
                [sys.executable, "-m", "handrail", "serve", "--port", "0", "--database", database],
                env=child_environment(),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert refused.returncode == 2
            assert refused.stdout == ""
            (said,) = refused.stderr.splitlines()
            assert said.startswith("error: database: is in use by another server (process")
            assert f"{server.process.pid}" in said
            server.kill()
        with Server(database, log, key) as server:  # no lock is left behind
            server.ready()
            with Load([server], ledger, f"{rng.random()}", workers=8) as load:
                load.until_answered(rng.randrange(50, 300))
                server.process.terminate()
                assert server.wait(Limits().shutdown_seconds + 30) == 0
        said = log.read_text()
        assert "cut off" not in said
        assert "stopped" in said
        with Server(database, log, key) as server, server.ready().asker() as asker:
            # Not only what was answered is there: what was not answered was not taken either.
            for call in ledger.open:
                if call.kind == "create":
                    assert asker.ask("GET", f"/v1/policies/{call.policy}").status == 404
            heads = check(asker, ledger.answered)
    fold_again(database, heads)
    audit(database)
