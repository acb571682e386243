"""What of the agreed rounds tell otherwise: what counts as such, and where it is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import InputError
from handrail.service import commands
from handrail.service.audit import Audit
from handrail.service.book import Book
from handrail.service.chain import START, link
from handrail.service.events import Decided, Event, decode, encode
from handrail.service.limits import Limits
from handrail.service.messages import CreateRequest, DecideRequest
from handrail.service.session import Session
from handrail.service.shelf import Shelf, load
from handrail.service.shown import PolicyView
from handrail.service.statement import Statement, make_statement
from handrail.service.store.protocol import Row
from handrail.service.transfer import import_log
from handrail.service.views import policy_view
from memory_store import MemoryStore
from service_logs import START as FIRST
from service_logs import rows

OLD = Path(__file__).parent / "data"
GUARD: dict[str, Any] = {"algorithm": "GUARD", "baseline": "p", "proposal": "x"}
ARMS: dict[str, Any] = {"algorithm": "HANDRAIL", "arms": ["a", "b"], "baseline": "a"}
CONTEXTS: dict[str, Any] = {"algorithm": "LinHANDRAIL", "dim": 2, "theta_bound": 5.0}
CONTEXTS |= {"feature_bound": 1.0}
ROWS = {"a": [0.1, 0.2], "b": [0.2, 0.1]}
MEAN, BASELINE = ["baseline_mean"], ["baseline"]


class Served:
    """A policy and its log, in memory."""

    def __init__(self, **made: Any) -> None:
        self.proposes = made.pop("proposal", None)
        self.store, self.shelf = MemoryStore(), Shelf(10)
        given = {"alpha": 0.2, "delta": 0.05, "reward_range": (0.0, 1.0), **made}
        with self.store.writing() as log:
            session = self._session(log)
            commands.create(session, CreateRequest(name="p", **given))
            session.flush()

    def _session(self, log: Any) -> Session:
        return Session(log, self.shelf, Limits(), FIRST, shared=False)

    def decide(self, **told: Any) -> Decided:
        """Decide a round and return its event."""
        with self.store.writing() as log:
            session = self._session(log)
            book = session.book("p")
            asked = DecideRequest(proposal=self.proposes, **told)
            commands.decide_all(session, book, [asked])
            session.flush()
        event = decode(self.rows()[-1].body)
        assert isinstance(event, Decided)
        return event

    def book(self) -> Book:
        with self.store.writing() as log:
            return self._session(log).book("p")

    def rows(self) -> list[Row]:
        return rows(self.store, "p")

    def statement(self) -> Statement:
        """Return the statement of the log, which is found to be right."""
        return stated(self.rows())


def stated(log: list[Row]) -> Statement:
    audit = Audit("p").run(log)
    assert audit.findings == []
    statement = make_statement(audit)
    assert statement is not None
    return statement


def text(statement: Statement) -> str:
    return "\n".join(statement.sentences())


# -- the statement -----------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.5, [0.4, 0.6]])
def test_means_that_rounds_override_are_counted(mean: Any) -> None:
    served = Served(**GUARD, baseline_mean=mean, may_override=MEAN)
    for _ in range(5):
        served.decide(baseline_mean=0.0)
    served.decide()
    statement = served.statement()
    assert (statement.told_rounds, statement.other_baselines) == (5, 0)
    assert "; 5 rounds overrode it, as told by callers." in text(statement)
    assert "in expectation, as told by callers in 5 rounds." in text(statement)


def test_baselines_that_rounds_override_are_counted() -> None:
    served = Served(**GUARD, may_override=BASELINE)
    served.decide(baseline="q", baseline_mean=0.1)
    served.decide(baseline="p", baseline_mean=0.1)
    statement = served.statement()
    assert (statement.told_rounds, statement.other_baselines) == (0, 1)
    assert "1 round overrode the agreed baseline, as told by callers." in text(statement)
    arms = Served(**ARMS, baseline_mean=0.5, may_override=[*MEAN, *BASELINE])
    arms.decide(baseline="b", baseline_mean=0.4)
    arms.decide(baseline="b", baseline_mean=0.5)
    assert (arms.statement().told_rounds, arms.statement().other_baselines) == (1, 2)


def test_leave_is_stated_where_nobody_used_it() -> None:
    used = Served(**GUARD, baseline_mean=0.5, may_override=[*MEAN, *BASELINE])
    used.decide()
    said = text(used.statement())
    assert "rounds may override the agreed baseline and baseline_mean (may_override)" in said
    assert "overrode" not in said
    assert used.statement().may_override == ["baseline", "baseline_mean"]
    none = Served(**GUARD, baseline_mean=0.5)
    none.decide()
    assert "overr" not in text(none.statement())
    assert none.statement().may_override == []
    # What was never agreed on cannot be overridden.
    told = Served(**GUARD, may_override=MEAN)
    told.decide(baseline_mean=0.5)
    assert "overr" not in text(told.statement())


def test_a_lower_bound_of_future_means_is_no_override() -> None:
    """It cuts the agreed interval of every round."""
    given = {"baseline_mean": [0.4, 0.6], "baseline_lower": 0.5, "checkpoint_every": 5}
    served = Served(**{**GUARD, "algorithm": "GUARD-T"}, **given)
    for _ in range(5):
        served.decide()
    assert served.statement().told_rounds == 0


@pytest.mark.parametrize("name", ["guard", "contexts", "arms"])
def test_logs_of_version_1_are_compared_with_what_was_agreed(name: str) -> None:
    """They do not say what a round overrode: all of it may have been."""
    store = MemoryStore()
    import_log(OLD / f"{name}-1.ndjson", store, FIRST + 10**9)
    log = rows(store, "p")
    events = [decode(row.body) for row in log]
    agreed = decode(log[0].body).definition["parameters"]  # type: ignore[union-attr]
    decided = [each for each in events if isinstance(each, Decided)]
    means = sum(each.mean != agreed["baseline_mean"] for each in decided)
    others = sum(each.baseline not in (None, agreed["baseline"]) for each in decided)
    statement = stated(log)
    assert (statement.told_rounds, statement.other_baselines) == (means, others)
    assert (means > 0) is (name != "arms")
    assert statement.may_override == ["baseline", "baseline_mean"]
    said = "rounds may override the agreed baseline and baseline_mean (log version 1's rule)"
    assert said in text(statement)


def test_leave_is_shown_with_the_policy() -> None:
    """Who reads a policy sees who may change what it rests on."""
    for made in ({"may_override": MEAN}, {"may_override": [*MEAN, *BASELINE]}, {}):
        book = Served(**GUARD, baseline_mean=0.5, **made).book()
        leave = sorted(made.get("may_override", []))
        assert policy_view(book).may_override == leave
        noted = [each for each in book.notes if each.startswith("Rounds may override")]
        assert len(noted) == bool(leave)
        assert all("whoever may ask for decisions can void it" in each for each in noted)
    store = MemoryStore()
    import_log(OLD / "guard-1.ndjson", store, FIRST + 10**9)
    with store.reading() as reader:  # from a snapshot, beside which notes are made anew
        book = load(reader, 1)
    assert policy_view(book).may_override == ["baseline", "baseline_mean"]
    assert any("log version 1's rule" in each for each in book.notes if "override" in each)


def test_a_service_of_before_says_nothing_of_leave() -> None:
    view = msgspec.to_builtins(policy_view(Served(**GUARD, baseline_mean=0.5).book()))
    del view["may_override"]
    assert msgspec.convert(view, PolicyView).may_override == []


# -- what is an override -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ({**GUARD, "baseline_mean": 0.5}, {"baseline_mean": [0.5, 0.5]}),
        ({**GUARD, "baseline_mean": [0.5, 0.5]}, {"baseline_mean": 0.5}),
        ({**GUARD, "baseline_mean": [0.4, 0.6]}, {"baseline_mean": [0.4, 0.6]}),
        ({**ARMS, "baseline_mean": [0.4, 0.6]}, {"baseline_mean": [0.4, 0.6]}),
        ({**ARMS, "baseline_mean": 0.5}, {"baseline": 0}),
        ({**ARMS, "baseline_mean": 0.5, "baseline": 1}, {"baseline": "b"}),
        ({**CONTEXTS, "baseline": 0}, {"features": ROWS, "baseline": "a", "baseline_mean": 0.3}),
        ({**CONTEXTS, "baseline": "b"}, {"features": ROWS, "baseline": 1, "baseline_mean": 0.3}),
        ({**CONTEXTS, "baseline": "b", "baseline_mean": 0.3}, {"features": ROWS}),
        ({**CONTEXTS, "baseline": "b", "baseline_mean": 0.3}, {"features": ROWS, "baseline": "b"}),
    ],
)
def test_telling_what_was_agreed_is_no_override(made: Any, told: Any) -> None:
    """Nor does the audit take it for one."""
    served = Served(**made)
    assert served.decide(**told).overrides is None
    statement = served.statement()
    assert (statement.told_rounds, statement.other_baselines) == (0, 0)


@pytest.mark.parametrize(
    ("made", "told", "field"),
    [
        ({**GUARD, "baseline_mean": 0.5}, {"baseline_mean": [0.4, 0.5]}, "baseline_mean"),
        ({**ARMS, "baseline_mean": "learned"}, {"baseline_mean": [0.0, 1.0]}, "baseline_mean"),
        ({**GUARD, "baseline_mean": 0.5}, {"baseline": 0}, "baseline"),
        ({**ARMS, "baseline_mean": 0.5}, {"baseline": 1, "baseline_mean": 0.5}, "baseline"),
        (
            {**CONTEXTS, "baseline": "a", "baseline_mean": 0.3},
            {"features": list(ROWS.values()), "baseline": 0},
            "baseline",  # rows without names: nobody can say that it is the agreed one
        ),
    ],
)
def test_telling_anything_else_needs_leave(made: Any, told: Any, field: str) -> None:
    served = Served(**made)
    with pytest.raises(InputError, match="was agreed on when the policy was made") as caught:
        served.decide(**told)
    assert caught.value.field == field


def test_another_baseline_needs_its_own_mean() -> None:
    """Also where the agreed one has a name: the agreed mean is that one's."""
    served = Served(**CONTEXTS, baseline="a", baseline_mean=0.3, may_override=BASELINE)
    with pytest.raises(InputError, match="baseline_mean: is not known for this round"):
        served.decide(features=ROWS, baseline="b")
    both = Served(**CONTEXTS, baseline="a", baseline_mean=0.3, may_override=[*MEAN, *BASELINE])
    event = both.decide(features=ROWS, baseline="b", baseline_mean=0.1)
    assert event.overrides == ["baseline", "baseline_mean"]
    assert (both.statement().told_rounds, both.statement().other_baselines) == (1, 1)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ({**GUARD, "baseline_mean": 0.5}, {"baseline": "q", "baseline_mean": 0.5}),
        ({**ARMS, "baseline_mean": 0.5}, {"baseline": "b", "baseline_mean": 0.5}),
        ({**CONTEXTS, "baseline": "a"}, {"features": ROWS, "baseline": "b", "baseline_mean": 0.1}),
        ({**CONTEXTS, "baseline": 0}, {"features": ROWS, "baseline": "b", "baseline_mean": 0.1}),
    ],
)
def test_an_override_that_the_log_leaves_out_or_has_twice_is_found(made: Any, told: Any) -> None:
    served = Served(**made, may_override=BASELINE)
    event = served.decide(**told)
    assert event.overrides == BASELINE
    log = served.rows()
    assert Audit("p").run(log).findings == []
    for forged in (None, [], [*BASELINE, *BASELINE]):  # counted wrongly, all of them
        other = msgspec.structs.replace(event, overrides=forged)
        found = Audit("p").run(relinked(log, other)).findings
        assert [each.seq for each in found] == [len(log)]
        assert "baseline" in found[0].reason


def relinked(log: list[Row], last: Event) -> list[Row]:
    """Return a log with another last event, and the hash that goes with it."""
    body = encode(last)
    before = log[-2].hash if len(log) > 1 else START
    return [*log[:-1], log[-1]._replace(body=body, hash=link(before, body))]
