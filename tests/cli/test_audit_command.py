"""`handrail audit` as an auditor types it: real files, rules that no compiler touched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.cli import main
from handrail.service.store.open import open_store
from service_logs import Writer, request


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit") / "handrail.db"
    store = open_store(str(path))
    Writer(store, request("news", "LinHANDRAIL", "dim"), 1).play(60)
    Writer(store, request("prices", "HANDRAIL", "arms", window=9), 2).play(60)
    store.close()
    return path


@pytest.fixture
def database(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "copy.db"))


def audit(source: Path, capfd: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    code = main(["audit", str(source), "--json", *more])
    printed = capfd.readouterr()
    assert printed.err == ""
    return code, json.loads(printed.out)


def test_an_honest_database(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = database.read_bytes()
    code, found = audit(database, capfd)
    assert (code, found["holds"]) == (0, True)
    assert [log["policy"] for log in found["policies"]] == ["news", "prices"]
    assert all(log["holds"] and log["problems"] == [] for log in found["policies"])
    assert found["events"] == sum(log["events"] for log in found["policies"]) > 150
    assert [log["statement"]["rounds"] for log in found["policies"]] == [60, 60]
    assert database.read_bytes() == before


def test_the_statement_in_words(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(database), "--policy", "prices"]) == 0
    text = capfd.readouterr().out
    for said in (
        "== prices",
        "prices (HANDRAIL, live) decided 60 rounds from 2023-11-14",
        "The baseline alone would have earned 33 in expectation.",
        "Required is 75 % of that, 24.75 at most, after every round.",
        "The promise may fail with probability 0.1 at most",
        "Assumed: rewards lie in [0, 1].",
        "Verdict: holds.",
        "(note it down)",
        "rules uncompiled: all is well",
    ):
        assert said in text
    assert "news" not in text


def test_no_compiler_takes_part(database: Path) -> None:
    code = (
        "import sys; from handrail.cli import main; code = main(['audit', sys.argv[1], '--json']); "
        "print(code, 'numba' in sys.modules, 'handrail.policies.policy' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(database)],
        env={**os.environ, "HANDRAIL_UNCOMPILED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines()[-1] == "0 False True"


def test_an_altered_byte(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(database) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
        assert "events" in tables
        (body,) = connection.execute(
            "SELECT body FROM events WHERE policy = 1 AND seq = 17"
        ).fetchone()
        altered = bytearray(body)
        altered[-1] ^= 1
        connection.execute(
            "UPDATE events SET body = ? WHERE policy = 1 AND seq = 17", (bytes(altered),)
        )
    connection.close()
    code, found = audit(database, capfd)
    assert (code, found["holds"]) == (1, False)
    news, prices = found["policies"]
    assert prices["holds"]
    assert news["problems"][0]["event"] == 17
    assert "altered" in news["problems"][0]["reason"]
    assert main(["audit", str(database)]) == 1
    text = capfd.readouterr().out
    assert "WRONG: event 17: it was altered" in text
    assert "Verdict: DOES NOT HOLD." in text
    assert "something is wrong" in text


def test_a_tail_that_was_cut_off(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, before = audit(database, capfd)
    head, count = before["policies"][0]["head"], before["policies"][0]["events"]
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM events WHERE policy = 1 AND seq > ?", (count - 3,))
    connection.close()
    code, cut = audit(database, capfd)
    assert (code, cut["policies"][0]["events"]) == (0, count - 3)  # nothing else can tell
    code, found = audit(database, capfd, "--head", head)
    assert (code, found["missing_heads"]) == (1, [head])
    # Of one log it is that log's finding, and its statement says so.
    name = cut["policies"][0]["policy"]
    code, found = audit(database, capfd, "--head", head, "--policy", name)
    assert (code, found["missing_heads"], found["policies"][0]["holds"]) == (1, [head], False)
    assert found["policies"][0]["statement"]["absent_heads"] == 1
    assert main(["audit", str(database), "--head", head, "--policy", name]) == 1
    said = capfd.readouterr().out
    assert "1 noted head that was asked for: none is that of an event here." in said
    assert "Verdict: DOES NOT HOLD." in said
    earlier = cut["policies"][0]["head"]
    other = before["policies"][1]["head"]
    code, found = audit(database, capfd, "--head", earlier.upper(), "--head", other)
    assert (code, found["missing_heads"]) == (0, [])
    assert found["policies"][0]["noted"][0]["events_after"] == 0
    assert main(["audit", str(database), "--head", head]) == 1
    assert f"no event has the noted head {head}: the log was cut off or replaced" in (
        capfd.readouterr().out
    )


def test_a_head_that_was_noted_earlier(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = open_store(str(database))
    with store.reading() as reader:
        hash = reader.events(1, 10, 1)[0].hash.hex()
        last = reader.head(1)
    store.close()
    assert last is not None
    assert main(["audit", str(database), "--head", hash]) == 0
    text = capfd.readouterr().out
    assert f"Noted head {hash[:16]}... is event 11; {last.seq - 11} came after." in text


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
def test_exported_files(
    database: Path, tmp_path: Path, suffix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"news.{suffix}"
    assert main(["export", str(database), "--policy", "news", "--out", str(out)]) == 0
    assert capfd.readouterr().out.startswith("1")
    code, found = audit(out, capfd)
    assert code == 0
    assert found["policies"][0]["statement"]["rounds"] == 60
    content = out.read_bytes()
    if suffix == "ndjson":
        lines = content.splitlines(keepends=True)
        out.write_bytes(b"".join(lines[:-1]))
        code, found = audit(out, capfd)
        assert code == 1
        assert "cut off" in found["policies"][0]["problems"][0]["reason"]
        out.write_bytes(b"".join([*lines[:5], b'{"seq": 5}\n', *lines[6:]]))
        code, found = audit(out, capfd)
        assert code == 1
        assert found["policies"][0]["problems"][0]["event"] == 5
    out.write_bytes(content[: len(content) // 2])
    assert main(["audit", str(out)]) == (1 if suffix == "ndjson" else 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.db"], "source: there is no file"),
        (["{database}", "--policy", "newz"], "did you mean news?"),
        (["{database}", "--head", "abc"], "is no hash"),
        (["mysql://user:secret@host/x"], "database: "),
        ([], "SOURCE"),
    ],
)
def test_bad_usage(
    arguments: list[str], said: str, database: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = [each.replace("{database}", str(database)) for each in arguments]
    assert main(["audit", *given]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert said in printed.err
    assert "secret" not in printed.err


def test_a_file_of_another_kind(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for content in (b"hello", b"{}\n", b"PAR1", b"\x00" * 100, b"[" * 100_000):
        path = tmp_path / "other"
        path.write_bytes(content)
        assert main(["audit", str(path)]) == 2
        assert capfd.readouterr().err.startswith("error: ")


# -- the process -----------------------------------------------------------------------------------

MODULE = ["-m", "handrail"]
SCRIPT = ["-c", "import sys; from handrail.cli import main; sys.exit(main())"]
"""As the console script does."""
WITHIN = ["-c", "import sys; from handrail.cli import main; sys.exit(main(sys.argv[1:]))"]
"""As a program does that has other things to do."""


@contextlib.contextmanager
def auditing(
    way: list[str], database: Path, tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start an audit that waits for heads; yield it and a pipe that it, or nobody, reads."""
    heads = tmp_path / "heads"
    os.mkfifo(heads)
    process = subprocess.Popen(
        [sys.executable, *way, "audit", str(database), f"--heads={heads}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        pipe = os.open(heads, os.O_WRONLY)  # waits for who reads it
        try:
            yield process, pipe
        finally:
            os.close(pipe)
    finally:
        process.kill()
        process.communicate()


posix_only = pytest.mark.skipif(os.name != "posix", reason="there are no such signals")


@posix_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("way", [MODULE, SCRIPT, WITHIN], ids=["module", "script", "within"])
def test_nothing_goes_on_when_it_is_ended(
    database: Path, tmp_path: Path, way: list[str], number: signal.Signals
) -> None:
    if way is WITHIN and number == signal.SIGKILL:
        pytest.skip("a process that is killed tells its child nothing")
    with auditing(way, database, tmp_path) as (process, pipe):
        process.send_signal(number)
        assert process.wait(30) == (130 if number == signal.SIGINT else -number)
        with pytest.raises(BrokenPipeError):
            os.write(pipe, b"\n")


@pytest.mark.parametrize("way", [MODULE, SCRIPT, WITHIN], ids=["module", "script", "within"])
def test_exit_codes_and_streams_are_those_of_the_command(
    database: Path, tmp_path: Path, way: list[str]
) -> None:
    said = []
    for more in ([], [f"--head={'0' * 64}"], ["--policy=none"], ["--nonsense"]):
        run = subprocess.run(
            [sys.executable, *way, "audit", str(database), *more],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        said.append((run.returncode, run.stdout[-12:], run.stderr[:20]))
    assert said == [
        (0, "all is well\n", ""),
        (1, "ng is wrong\n", ""),
        (2, "", "error: policy: there"),
        (2, "", "error: command line:"),
    ]


def test_a_caller_goes_on_after_an_audit(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert main(["audit", str(database)]) == 0
    assert main(["audit", str(database), "--policy", "none"]) == 2
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    assert "Verdict: holds." in capfd.readouterr().out
