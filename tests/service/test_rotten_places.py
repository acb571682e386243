"""Rotten numbers and names by which rows are found, which no server ever gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from children import child, line
from handrail.errors import InputError
from handrail.service.sources import open_source
from handrail.service.store.backup import back_up
from handrail.service.store.open import open_store
from handrail.service.store.protocol import PolicyRow, Row, Store
from logs import add, chain
from rotten import change, lenient

LAST = 2**63 - 1
"""The largest id, and the largest number, that a database can hold."""

# In a process of its own, because a statement that goes round for ever cannot be interrupted.
AUDITS = """
import json, sys, threading, os
from handrail.service.review import Review
from handrail.service.sources import open_source
late = threading.Timer(30, os._exit, [9])
late.daemon = True
late.start()
source = open_source(sys.argv[1])
review = Review(source)
names = [reviewed.audit.policy for reviewed in review]
print(json.dumps([names, review.ownerless, review.wrong > 0]))
"""


def audited(path: Path) -> str:
    """Return the policies that an audit comes across, the numbers without one, and its verdict."""
    with child(AUDITS, path) as audit:
        return line(audit)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    database = tmp_path / "log.db"
    store = open_store(str(database), exclusive=True)
    add(store, "news", 9)
    store.close()
    return database


@pytest.mark.parametrize(
    ("id", "number"),
    [
        (LAST, 2**23 - 1),
        (LAST - 2**40 + 1, 2**23 - 1),
        (LAST - 2**40, 2**23 - 2),
        (-1, -1),
        (-(2**40), -1),
        (-(2**40) - 1, -2),
        (-(2**63), -(2**23)),
        (0, 0),
    ],
)
def test_an_event_with_an_id_that_none_has(path: Path, id: int, number: int) -> None:
    change(path, "INSERT INTO events (id, body, hash) VALUES (?, x'00', x'00')", id)
    assert audited(path) == f'[["news"], [{number}], true]'
    with pytest.raises(InputError, match=f"there is none of number {number}"):
        back_up(str(path), path.with_name("copy.db"))


def test_ids_at_both_ends_at_once(path: Path) -> None:
    for id in (LAST, LAST - 1, -(2**63), -1, 5, 2**41 + 1):
        change(path, "INSERT INTO events (id, body, hash) VALUES (?, x'00', x'00')", id)
    assert audited(path) == f'[["news"], [{-(2**23)}, -1, 0, 2, {2**23 - 1}], true]'


@pytest.mark.parametrize("number", [LAST, 2**23, -1, -(2**23) - 1, -LAST - 1])
def test_a_policy_with_a_number_that_none_has(path: Path, number: int) -> None:
    """It has no events, whose ids could not hold the number."""
    change(path, "INSERT INTO policies (number, name) VALUES (?, 'sport')", number)
    assert audited(path) == '[["news", "sport"], [], true]'
    store = open_store(str(path), exclusive=True)
    with store.reading() as reader:
        assert reader.find("sport") == PolicyRow(number, "sport")
        assert reader.events(number) == reader.events(number, 3) == []
        assert reader.rounds(number, 1, 9) == []
        assert reader.head(number) is None
        assert reader.snapshots(number) == []
        assert reader.keyed(number, "key") is None
    assert add(store, "after it", 3) == 2
    with store.reading() as reader:
        assert len(reader.events(2)) == 3
    store.close()


def test_an_event_before_the_first(path: Path) -> None:
    """Number 0 of a policy that is there: the one that it was would be missed by nobody."""
    change(path, f"UPDATE events SET id = {2**40} WHERE id = {2**40 + 9}")
    assert audited(path) == '[["news"], [1], true]'


@pytest.mark.parametrize("number", [LAST, -1, 0])
def test_a_policy_is_made_beside_events_whose_policy_is_gone(path: Path, number: int) -> None:
    """Under a number of its own: under theirs it could not be, and every try would fail."""
    change(path, "UPDATE policies SET number = ?", number)
    store = open_store(str(path), exclusive=True)
    assert add(store, "after it", 3) == 2
    store.close()
    assert audited(path) == '[["after it", "news"], [1], true]'


@pytest.mark.parametrize("seq", [2**40, LAST, LAST - (1 << 40), LAST - 1])
def test_a_noted_head_behind_all_that_there_could_be(path: Path, seq: int) -> None:
    change(path, "CREATE TABLE heads (number INTEGER, policy TEXT, seq INTEGER, hash BLOB)")
    change(path, "INSERT INTO heads VALUES (1, 'news', ?, zeroblob(32))", seq)
    with pytest.raises(InputError, match=rf"heads: .* event {seq} of 'news'"):
        open_source(str(path)).noted()


def test_events_after_any_place(store: Store) -> None:
    """Heads from elsewhere may name it."""
    news, sport = add(store, "news", 3), add(store, "sport", 3)
    assert sport == news + 1
    with store.reading() as reader:
        for after in (3, 2**40 - 1, 2**40, 2**41, LAST):
            assert reader.events(news, after) == []
            assert reader.since(sport, after, 10) in ([], chain(3, 3))


def test_a_name_that_is_no_text(path: Path) -> None:
    """It is shown with what is no letter replaced, and does not come after that in any order."""
    change(path, "INSERT INTO policies (number, name) VALUES (2, 'zoo')")
    change(path, "UPDATE policies SET name = CAST(x'6e6577ff' AS TEXT) WHERE number = 1")
    assert audited(path) == '[["new\\ufffd", "zoo"], [], true]'


@pytest.mark.parametrize("name", ["x'6e657773'", "NULL"])
def test_a_name_that_is_of_another_type(path: Path, name: str) -> None:
    """By which no policy is found: its events are not to be overlooked."""
    change(path, "INSERT INTO policies (number, name) VALUES (2, 'zoo')")
    lenient(path, "policies", f"UPDATE policies SET name = {name} WHERE number = 1")
    assert audited(path) == '[["zoo"], [1], true]'


def test_a_seq_at_the_end_of_what_there_could_be(store: Store) -> None:
    policy = add(store, "news", 3)
    last = Row(2**40 - 1, None, b"body", bytes(32))
    with store.writing() as writer:
        writer.append(policy, [last])
    with store.reading() as reader:
        assert reader.head(policy) == last
        assert reader.events(policy, 3) == [last]
        assert reader.events(policy, last.seq) == []
        assert reader.ownerless() == []
