"""`handrail export` and `handrail import`, as an operator types them."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cli import main
from handrail.service.store.open import open_store
from service_logs import Writer, request, rows


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "handrail.db"
    store = open_store(str(path))
    Writer(store, request("prices", "CUCB2", "arms"), 1).play(20)
    Writer(store, request("news", "UCB", "arms"), 2).play(10)
    store.close()
    return path


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
def test_a_log_moves_to_another_database(
    database: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / f"prices.{suffix}", tmp_path / "other.db"
    assert main(["export", str(database), "--policy", "prices", "--out", str(file)]) == 0
    said = capsys.readouterr().out
    assert main(["import", str(file), "--database", str(other)]) == 0
    assert capsys.readouterr().out == said
    one, two = open_store(str(database)), open_store(str(other))
    log = rows(one, "prices")
    assert rows(two, "prices") == log
    assert said == f"{len(log)} events of prices, head {log[-1].hash.hex()}\n"
    with two.reading() as reader:
        assert [row.name for row in reader.policies()] == ["prices"]
    one.close()
    two.close()
    assert main(["import", str(file), "--database", str(other)]) == 2
    assert "there is one called 'prices'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "{db}", "--policy", "x", "--out", "{out}"], "policy: there is no 'x'"),
        (["export", "{db}.gone", "--policy", "news", "--out", "{out}"], "there is no file"),
        (["export", "{db}", "--policy", "news", "--out", "{out}/x/y"], "no place for a file"),
        (["export", "{db}", "--policy", "news", "--out", "{folder}"], "no place for a file"),
        (["export", "{db}", "--policy", "news"], "--out"),
        (["export", "{db}", "--out", "{out}"], "--policy"),
        (["import", "{db}.gone", "--database", "{out}"], "cannot be read"),
        (["import", "{db}", "--database", "{out}"], "is no log"),
        (["import", "{folder}", "--database", "{out}"], "cannot be read"),
        (["import"], "FILE"),
    ],
)
def test_bad_usage(
    arguments: list[str],
    said: str,
    database: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    named = {"db": str(database), "out": str(out), "folder": str(tmp_path)}
    assert main([each.format(**named) for each in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert said in printed.err
    assert not out.exists()


def test_half_a_file_leaves_the_database_as_it_was(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "prices.ndjson", tmp_path / "other.db"
    assert main(["export", str(database), "--policy", "prices", "--out", str(file)]) == 0
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    capsys.readouterr()
    assert main(["import", str(file), "--database", str(other)]) == 2
    assert f"error: {file}: line " in capsys.readouterr().err
    store = open_store(str(other))
    with store.reading() as reader:
        assert reader.policies() == []
    store.close()
