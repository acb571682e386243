"""Logs whose rounds leave what was agreed on, or whose answers are not what was decided."""

from __future__ import annotations

from typing import Any

import pytest

from forged_logs import audit, chained, changed, decoded, forged, places
from handrail._version import __version__
from handrail.errors import InputError
from handrail.service import events
from handrail.service.audit import Audit
from handrail.service.events import Decided
from handrail.service.messages import CreateRequest, DecideRequest
from handrail.service.sources import DatabaseSource
from handrail.service.statement import make_statement
from handrail.service.store.protocol import Row
from handrail.service.transfer import export_log, import_log
from memory_store import MemoryStore
from service_logs import START, Writer, rows

PLAIN = {"plain": [0.5, 0.1], "offer": [0.4, 0.6], "bold": [0.1, 0.9]}
BASE: dict[str, Any] = {"alpha": 0.5, "delta": 0.05, "reward_range": (0.0, 1.0)}
CONTEXTS = {
    **BASE,
    "algorithm": "LinHANDRAIL",
    "dim": 2,
    "baseline": "plain",
    "baseline_mean": 0.3,
    "theta_bound": 1.0,
    "feature_bound": 1.0,
}
ARMS = {
    **BASE,
    "algorithm": "HANDRAIL",
    "arms": ["today", "new", "bold"],
    "baseline": "today",
    "baseline_mean": 0.5,
}
GUARD = {**BASE, "algorithm": "GUARD", "baseline": "old", "baseline_mean": 0.5}


def policy(definition: dict[str, Any], **changes: Any) -> Writer:
    given = {key: value for key, value in {**definition, **changes}.items() if value is not None}
    return Writer(MemoryStore(), CreateRequest(name="p", **given))


def request(definition: dict[str, Any], **changes: Any) -> DecideRequest:
    if "dim" in definition:
        return DecideRequest(**({"features": PLAIN} | changes))
    if definition["algorithm"] == "GUARD":
        return DecideRequest(**({"proposal": "new"} | changes))
    return DecideRequest(**changes)


def played(definition: dict[str, Any], rounds: int = 12, **changes: Any) -> list[Row]:
    """Return an honest log of some baseline rounds and some others."""
    made = {**definition, **changes}
    writer = policy(made)
    log = writer.ask(*[request(made) for _ in range(rounds)], reward=1.0).rows()
    assert audit(log).findings == []
    return log


def baseline_rounds(log: list[Row]) -> list[int]:
    explored = places(log, Decided, explored=True)
    return [index for index in places(log, Decided) if index not in explored]


def is_found(log: list[Row], index: int, **fields: Any) -> bool:
    found = forged(log, index, changed(decoded(log)[index], **fields)).findings
    return bool(found) and found[0].seq == index + 1


# -- the agreed baseline ---------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [False, True])
def test_a_baseline_that_was_agreed_on_by_name(keep: bool, tmp_path: Any) -> None:
    """Every round has its index, which is no other baseline: the log holds and goes on."""
    writer = policy(CONTEXTS, keep_candidates=keep, may_override=["baseline"])
    moved = dict(reversed(PLAIN.items()))  # the same name, at another index
    writer.ask(request(CONTEXTS), request(CONTEXTS, features=moved), reward=1.0)
    writer.ask(request(CONTEXTS, baseline="offer", baseline_mean=0.3))
    writer.ask(request(CONTEXTS, features=list(PLAIN.values()), baseline=1, baseline_mean=0.3))
    assert audit(writer.rows()).findings == []
    export_log(DatabaseSource(writer.store), "p", tmp_path / "p.ndjson")
    other = MemoryStore()
    import_log(tmp_path / "p.ndjson", other, START + 10**9)
    assert rows(other, "p") == writer.rows()


@pytest.mark.parametrize("keep", [False, True])
def test_another_name_than_was_agreed_on(keep: bool) -> None:
    log = played(CONTEXTS, keep_candidates=keep)
    (index, *_) = baseline_rounds(log)
    offer = {"baseline": 1, "action": 1, "named": "offer", "features": PLAIN["offer"]}
    assert is_found(log, index, **offer, leader=2, leader_named="bold")
    assert is_found(log, index, baseline=None)


@pytest.mark.parametrize(
    ("definition", "other"),
    [
        (ARMS, {"baseline": 2, "action": 2, "told": 0.5}),
        (ARMS | {"baseline_mean": "learned"}, {"baseline": 2, "action": 2}),
        (ARMS | {"baseline_mean": (0.4, 0.5)}, {"baseline": 2, "action": 2}),
        (ARMS | {"algorithm": "UCB", "alpha": None, "baseline_mean": None}, {"baseline": 2}),
        (GUARD, {"baseline": "other", "named": "other", "told": 0.5}),
        (GUARD | {"baseline_mean": "learned"}, {"baseline": "other", "named": "other"}),
        (CONTEXTS | {"baseline": 0}, {"baseline": 1, "action": 1, "named": "offer"}),
    ],
)
def test_another_baseline_than_was_agreed_on(
    definition: dict[str, Any], other: dict[str, Any]
) -> None:
    """Whatever is called the baseline is played without a margin, and its mean sets what is due."""
    made = {key: value for key, value in definition.items() if value is not None}
    log = played(made)
    unled = dict.fromkeys(("leader", "leader_margin", "leader_upper", "leader_lower"))
    index = (baseline_rounds(log) or places(log, Decided))[0]
    for fields in (other, other | unled, other | {"overrides": ["baseline"]}):
        assert is_found(log, index, **fields), fields


def test_a_mean_told_where_one_was_agreed_on_for_all_rounds() -> None:
    for mean in ("learned", (0.4, 0.5)):
        log = played(ARMS, baseline_mean=mean)
        (index, *_) = baseline_rounds(log)
        assert is_found(log, index, told=0.1)
        assert is_found(log, index, told=0.1, overrides=["baseline_mean"])


def test_another_baseline_with_leave() -> None:
    for definition, other in ((ARMS, "bold"), (GUARD, "other")):
        writer = policy(definition, may_override=["baseline"])
        writer.ask(request(definition, baseline=other, baseline_mean=0.5))
        log = writer.rows()
        assert audit(log).findings == []
        assert is_found(log, 1, overrides=None)


# -- what the definition meant ---------------------------------------------------------------------


def remade(log: list[Row], release: str, **parts: Any) -> Any:
    """Audit a log whose first event names another release, and other parts."""
    created = events.to_json(decoded(log)[0])
    for name, value in parts.items():
        said = created["parts"][name]
        created["parts"][name] = said | value if isinstance(value, dict) else value
    return forged(log, 0, events.from_json(created | {"handrail": release}))


def test_what_another_release_filled_in_is_taken_and_said() -> None:
    """A later release may fill in another width; the statement says that nobody computed it."""
    log = played(GUARD, rounds=3)
    found = remade(log, "0.0.9", parameters={"cumulative": "mixture", "tightest_at": 7.0})
    assert found.findings == []
    statement = make_statement(found)
    assert statement is not None
    assert any("handrail 0.0.9 wrote down" in each for each in statement.assumptions)
    own = make_statement(audit(log))
    assert own is not None
    assert not any("wrote down" in each for each in own.assumptions)
    assert own.alpha == GUARD["alpha"]


@pytest.mark.parametrize(
    "parts",
    [
        {"parameters": {"alpha": 0.999}},
        {"parameters": {"baseline_mean": 0.0}},
        {"parameters": {"noise": 1e-3}},
        {"parameters": {"clip": "none"}},
        {"parameters": {"checkpoint_every": 1000}},
        {"edition": 0},
        {"edition": 3},
        {"edition": True},
        {"edition": None},
        {"algorithm": {"name": "UCB"}},
        {"algorithm": {"preset": {"baseline_lower": 0.0}}},
        {"algorithm": {"schedule": "checkpoints"}},
        {"algorithm": {"past": "oracle"}},
        {"algorithm": {"past": "none", "selection": "optimistic", "schedule": "none"}},
    ],
)
def test_parts_that_no_release_can_have_written(parts: dict[str, Any]) -> None:
    """Whatever they are, they are used: they say no more than what a definition leaves open."""
    log = played(ARMS, rounds=3, clip="zero")
    for release in ("0.0.9", __version__):
        found = remade(log, release, **parts)
        assert [each.seq for each in found.findings] == [1]


@pytest.mark.parametrize("release", ["", "none", "9" * 51, "0.1\n0"])
def test_a_release_that_is_none(release: str) -> None:
    assert [each.seq for each in remade(played(ARMS, rounds=1), release).findings] == [1]


# -- what was answered -----------------------------------------------------------------------------


def test_an_answer_is_what_was_decided() -> None:
    """Callers play what is named: the audit of a round says nothing of another name."""
    for fields in (
        {"named": "bold"},
        {"leader_named": "nonsense"},
        {"leader": None},
        {"safe": 3},
        {"digest": "00" * 16},
        {"candidates": [[1.0]]},
        {"proposal": "x"},
        {"baseline": "bold"},
        {"leader_margin": 5.0},
    ):
        log = played(ARMS)
        assert is_found(log, baseline_rounds(log)[1], **fields), fields
    for fields in ({"named": "today"}, {"leader_margin": 99.0}, {"leader_lower": -1.0}):
        assert is_found(log, places(log, Decided, explored=True)[0], **fields), fields


def test_what_a_guard_was_asked_is_what_it_answered() -> None:
    log = played(GUARD)
    explored, held = places(log, Decided, explored=True)[0], baseline_rounds(log)[0]
    for fields in (
        {"proposal": "old"},
        {"proposal": "other"},
        {"proposal": None},
        {"named": "other"},
        {"leader": 0},
        {"leader_margin": 7.0},
        {"safe": 2},
    ):
        assert is_found(log, explored, **fields), fields
    for fields in (
        {"proposal": None},
        {"leader_named": "other"},
        {"leader": 0},
        {"leader_margin": 7.0},
        {"safe": 2},
    ):
        assert is_found(log, held, **fields), fields


@pytest.mark.parametrize("keep", [False, True])
def test_the_names_of_a_round(keep: bool) -> None:
    log = played(CONTEXTS, keep_candidates=keep)
    index = baseline_rounds(log)[0]
    event = decoded(log)[index]
    assert isinstance(event, Decided)
    for fields in (
        {"named": None},
        {"leader_named": None},
        {"leader_named": event.named},
        {"leader": event.action},
        {"digest": None},
        {"digest": "zz"},
        {"candidates": None if keep else PLAIN},
    ):
        assert is_found(log, index, **fields), fields
    if keep:
        assert is_found(log, index, leader_named="another")
        assert is_found(log, index, leader=3)


@pytest.mark.parametrize("definition", [ARMS, GUARD, CONTEXTS])
def test_what_a_shadow_would_have_done(definition: dict[str, Any]) -> None:
    log = played(definition, mode="shadow", keep_candidates=True)
    event = decoded(log)[-1]
    assert isinstance(event, Decided)
    assert event.would is not None
    wish, kind, margin = event.would
    assert kind == "optimistic"
    for would in (
        None,
        ["nothing", kind, margin],
        [0, kind, margin],
        [wish, "bold", margin],
        [wish, "baseline", margin],
        [wish, kind, -1.0],
        [wish, kind, None],
        [wish, kind, float("inf")],
    ):
        assert is_found(log, len(log) - 1, would=would), would


# -- what the service never writes -----------------------------------------------------------------


def test_keys_tags_and_names_of_rounds() -> None:
    log = played(GUARD)
    long = "k" * 201
    for fields in (
        {"key": "visit-1"},
        {"request": "0" * 16},
        {"key": "", "request": "0" * 16},
        {"key": long, "request": "0" * 16},
        {"key": "visit-1", "request": "none"},
        {"token": "01234567"},
        {"proposal": long, "named": long, "leader_named": long},
    ):
        assert is_found(log, places(log, Decided, explored=True)[0], **fields), fields


def test_arms_and_modes_that_do_not_change() -> None:
    log = played(ARMS, arms_ever="any")
    at = decoded(log)[-1].at
    for said in (
        [events.ModeChanged(at=at, mode="live")],
        [events.ArmAdded(at=at, name="n" * 201)],
        [events.ArmRetired(at=at, arm=2), events.ArmRetired(at=at, arm=2)],
    ):
        found = audit(chained([*decoded(log), *said])).findings
        assert [each.seq for each in found] == [len(log) + len(said)]
    created = events.to_json(decoded(log)[0])
    created["definition"]["parameters"]["arms"][2] = "n" * 201
    assert forged(log, 0, events.from_json(created)).findings[0].seq == 1


def test_rounds_that_are_given_up_although_another_waits_for_longer() -> None:
    """How many may wait is the service's own limit, of which the log says nothing."""
    writer = policy(ARMS, default_reward=1.0)
    log = writer.ask(*[request(ARMS) for _ in range(40)]).rows()
    waiting = [
        each.round
        for each in decoded(log)
        if isinstance(each, Decided) and each.event != "baseline"
    ]
    assert len(waiting) > 1
    given_up = [events.Closed(at=decoded(log)[-1].at, round=each) for each in waiting]
    assert Audit("p").run(chained([*decoded(log), *given_up[:2]])).findings == []
    found = Audit("p").run(chained([*decoded(log), given_up[1]])).findings
    assert [each.seq for each in found] == [len(log) + 1]


def test_a_guard_whose_rounds_name_their_baseline_holds() -> None:
    """Nothing was agreed on but that one mean is learned: each round says whose it is."""
    writer = policy(GUARD, baseline=None, baseline_mean="learned")
    log = writer.ask(*[request(GUARD, baseline="today") for _ in range(6)]).rows()
    assert Audit("p").run(log).findings == []


def test_an_agreed_baseline_is_called_by_a_name_of_bounded_length() -> None:
    with pytest.raises(InputError, match="too long a name") as error:
        policy(GUARD, baseline="b" * 201)
    assert error.value.field == "baseline"
