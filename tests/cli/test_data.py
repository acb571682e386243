"""`handrail data`, as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cli import main
from handrail.environments.jester import ACKNOWLEDGEMENT, load_jester
from handrail.environments.jester_check import SHA256
from jester_copy import COPY, LOOK_ALIKE, alone, held, needs_copy
from loopback import Answer, serving


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return alone(monkeypatch, tmp_path)


def check_printed(printed: str, cache: Path) -> None:
    path, checked, acknowledgement = printed.splitlines()[-3:]
    assert Path(path) == cache / "data" / "jester.npy"
    assert "24,983 users x 100 jokes" in checked
    assert SHA256 in checked
    assert ACKNOWLEDGEMENT in acknowledgement


@needs_copy
def test_a_copy(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "jester", "--file", COPY]) == 0
    printed = capsys.readouterr()
    check_printed(printed.out, cache)
    assert len(printed.out.splitlines()) == 3
    assert printed.err == ""
    assert load_jester().shape == (24_983, 100)


@needs_copy
def test_a_download_is_done_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving({"/jester.zip": Answer(Path(COPY).read_bytes())}) as server:
        monkeypatch.setenv("HANDRAIL_JESTER_URL", f"{server.url}/jester.zip")
        assert main(["data", "jester"]) == 0
        first = capsys.readouterr()
        assert first.err == f"downloading {server.url}/jester.zip (3.4 MB)\n"
        check_printed(first.out, cache)
        assert main(["data", "jester"]) == 0
        second = capsys.readouterr()
        assert second.out.startswith("already in the cache")
        assert second.err == ""
        check_printed(second.out, cache)
        assert len(server.asked) == 1
        (path,) = (cache / "data").iterdir()
        whole = path.read_bytes()
        path.write_bytes(whole[:1000])  # what is damaged is downloaded anew
        assert main(["data", "jester"]) == 0
        assert path.read_bytes() == whole
        assert len(server.asked) == 2


def test_a_download_that_fails(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving({}) as server:
        monkeypatch.setenv("HANDRAIL_JESTER_URL", f"{server.url}/jester.zip")
        assert main(["data", "jester"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: jester: {server.url}/jester.zip was answered with 404")
    assert "`handrail data jester --file PATH`" in printed.err
    assert printed.err.count("\n") == 1
    assert held(cache) == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(LOOK_ALIKE, "other content"), (b"1,2\n", "1 x 2 cells"), (None, "does not exist")],
    ids=["content", "shape", "missing"],
)
def test_a_wrong_copy(
    cache: Path,
    tmp_path: Path,
    content: bytes | None,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "ratings.csv"
    if content is not None:
        path.write_bytes(content)
    assert main(["data", "jester", "--file", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: jester: ")
    assert reason in printed.err
    assert printed.err.count("\n") == 1
    assert held(cache) == {}


@pytest.mark.parametrize("arguments", [["data"], ["data", "jster"], ["data", "jester", "--file"]])
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("error: command line: ")


def test_help_says_where_from_and_where_to(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["data", "--help"])
    shown = capsys.readouterr().out
    for name in ("HANDRAIL_JESTER_URL", "HANDRAIL_CACHE", "--file PATH"):
        assert name in shown
