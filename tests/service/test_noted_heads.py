"""Heads in a file: what is read, what is left alone, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.errors import InputError
from handrail.service.audit import Audit
from handrail.service.heads import by_policy, read_heads
from handrail.service.statement import make_statement
from handrail.service.store.protocol import HeadRow
from memory_store import MemoryStore
from service_logs import Writer, request

HASH = "0" * 64
GOOD = {"message": "head", "policy": "p", "seq": 7, "hash": HASH}


def test_files_without_heads(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    for content in (
        "",
        "nothing\n",
        '{"message": "ready"}\n',
        '{"message": "head", "policy": "p"}\n',
        '{"message": "head", "policy": "p", "seq": 1, "hash": "00"}\n',
        '{"message": "head", "policy": "p", "seq": "x", "hash": "' + "0" * 64 + '"}\n',
    ):
        path.write_text(content)
        with pytest.raises(InputError):
            read_heads(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_heads(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"seq": 0}, "has the seq 0"),
        ({"seq": -1}, "has the seq -1"),
        ({"seq": 1.5}, "has the seq 1.5"),
        ({"seq": True}, "has the seq True"),
        ({"seq": "7"}, "has the seq '7'"),
        ({"seq": None}, "has the seq None"),
        ({"policy": 5}, "names no policy"),
        ({"hash": HASH[:-2]}, "has no hash"),
        ({"hash": f"{HASH[:-1]}g"}, "has no hash"),
        ({"hash": " ".join(["00"] * 32)}, "has no hash"),
        ({"hash": 5}, "has no hash"),
    ],
)
def test_a_line_that_is_to_note_a_head_and_does_not(
    tmp_path: Path, wrong: dict[str, object], reason: str
) -> None:
    """Beside good ones it would be left out without a word."""
    path = tmp_path / "service.log"
    lines = [json.dumps(each) for each in (GOOD, {"message": "ready"}, GOOD | wrong, GOOD)]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=f"--heads: line 3 of .* {reason}"):
        read_heads(path)


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    good = json.dumps(GOOD)
    path.write_text(f"{good}\nhost handrail[7]: {good[:-30]}\n")
    with pytest.raises(InputError, match=r"line 2 of .* is no JSON; .* may be left out"):
        read_heads(path)


def test_other_lines_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    others = ['GET "head" {', '{"said": "head"}', '["head"]', '{"message": "no head", "x": "head"}']
    path.write_text("\n".join([*others, json.dumps(GOOD), *others]))
    assert read_heads(path) == [HeadRow("p", 7, bytes(32))]


@pytest.mark.parametrize(
    ("kept", "noted", "said"),
    [
        (10, [], "with no noted heads: a tail that was lost is not noticed."),
        (10, [4], "with 1 noted head, up to event 4: a tail that was lost after that is not"),
        (10, [12], "with 1 noted head: 1 of them of a later event, which was not found."),
        (10, [4, 12], "with 2 noted heads, up to event 4: 1 of them of a later event, which was"),
        (10, [4, 11, 12], "with 3 noted heads, up to event 4: 2 of them of later events, which"),
    ],
)
def test_a_statement_says_what_was_compared(kept: int, noted: list[int], said: str) -> None:
    created = request("p", "CUCB2", "arms", alpha=0.6, baseline_mean=0.3)
    log = Writer(MemoryStore(), created).play(12).rows()
    heads = by_policy([HeadRow("p", seq, log[seq - 1].hash) for seq in noted])
    audit = Audit("p", noted=heads.get("p", {})).run(log[:kept])
    statement = make_statement(audit)
    assert statement is not None
    assert statement.sentences()[-1].startswith(f"It was compared {said}")
