"""The files of a database are swapped under a server with a load on it: it stops, with a word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.cli import main
from handrail.service.store.backup import back_up
from service_load import Ledger, Load, create_policies
from service_processes import Server
from service_truth import audit, check

REMOVED = "rm -f {db}-wal {db}-shm"
REPLACED = "mv {copy} {db}"
# What docs/operations.md once had for a server that is stopped.
DOCUMENTED = "rm -f {db}-wal {db}-shm; cp {copy} {db}"


@pytest.mark.parametrize(
    ("command", "idle"), [(REMOVED, False), (REPLACED, True), (DOCUMENTED, False)]
)
def test_it_stops_before_it_acknowledges_more(
    command: str, idle: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, log, copy = tmp_path / "log.db", tmp_path / "server.log", tmp_path / "copy.db"
    ledger = Ledger()
    with Server(str(database), log) as server:
        create_policies(server.ready())
        with Load([server], ledger, "swapped", refusable=True) as load:
            load.until_answered(100)
            back_up(str(database), copy)
            content = copy.read_bytes()
            load.until_answered(100)
            if idle:
                load.end()
            subprocess.run(command.format(db=database, copy=copy), shell=True, check=True)
            assert server.wait(60) == 1
    said = log.read_text()
    assert "under the server" in said
    if command is not REMOVED:
        assert database.read_bytes() == content
    if command is DOCUMENTED:  # what the server had may be written over before it can be read
        return
    (rescued,) = set(re.findall(r"is in (\S+?\.rescued-[0-9a-f]{8})", said))
    audit(rescued)
    again = subprocess.run(
        [sys.executable, "-m", "handrail", "serve", "--port", "0", "--database", str(database)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert again.returncode == 2
    assert f"{rescued} holds what a server" in again.stderr
    assert main(["restore", rescued, "--database", str(database)]) == 0
    capsys.readouterr()
    rescued = str(Path(rescued).rename(tmp_path / "seen.db"))
    with Server(str(database), log, server.key) as server, server.ready().asker() as asker:
        check(asker, ledger)  # whatever was answered is there
        assert main(["restore", rescued, "--database", str(database)]) == 2
        assert "in use by another server" in capsys.readouterr().err
        assert server.is_ready()


def test_a_server_that_is_told_to_stop_in_the_same_moment(tmp_path: Path) -> None:
    database, log = tmp_path / "log.db", tmp_path / "server.log"
    with Server(str(database), log) as server:
        create_policies(server.ready())
        subprocess.run(
            f"mv {database} {database}.old; kill {server.process.pid}", shell=True, check=True
        )
        assert server.wait(60) == 1
    assert "was removed under the server" in log.read_text()
