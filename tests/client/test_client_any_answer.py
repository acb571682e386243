"""Any bytes at all as an answer: decide returns something to play, and never raises."""

from __future__ import annotations

import json

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.misbehaving import ANSWER, response
from handrail.client import Choice, deciding
from handrail.client.choice import Ask
from handrail.client.core import Core
from handrail.client.exchange import Exchange
from handrail.client.journey import TooLarge
from handrail.client.settings import Settings, check_settings
from handrail.client.steps import Failure, Outcome, Reply, Request, Talk
from handrail.client.unsaid import HandOut

SETTINGS: Settings = check_settings(
    "http://127.0.0.1:8642",
    None,
    baselines={"shop": "current"},
    timeout=1.0,
    patience=1.0,
    strict=False,
    verify=True,
    failures=10**9,
    rest=1.0,
    remember=10,
    connections=1,
    say_played=True,
)
GOOD = json.dumps(ANSWER).encode()
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
ALMOST = st.builds(
    lambda field, value: json.dumps({**ANSWER, field: value}).encode(),
    st.sampled_from(sorted(ANSWER)),
    JSON,
)
"""The right answer, but for one field."""
BODIES = st.binary(max_size=100) | JSON.map(lambda value: json.dumps(value).encode()) | ALMOST
OUTCOMES = st.builds(Reply, st.integers(100, 999), BODIES) | st.builds(
    Failure,
    st.sampled_from(["unreachable", "timeout", "broken", "unreadable"]),
    st.text(max_size=20),
    st.booleans(),
)


def finish(talk: Talk[Choice], outcomes: list[Outcome]) -> Choice:
    """Hold a talk with these outcomes, the last of them for ever."""
    left = list(outcomes)
    try:
        next(talk)
        while True:
            talk.send(left.pop(0) if len(left) > 1 else left[0])
    except StopIteration as end:
        choice: Choice = end.value
        return choice


@given(st.lists(OUTCOMES, min_size=1, max_size=3))
def test_whatever_comes_there_is_something_to_play(outcomes: list[Outcome]) -> None:
    core = Core(SETTINGS)
    out = HandOut("shop")
    choice = finish(deciding.decide(core, "shop", Ask(), None, None, out), outcomes)
    out.given = True
    if choice.fallback:
        assert (choice.action, choice.event, choice.id) == ("current", "baseline", None)
        assert choice.error
    else:
        assert isinstance(choice.action, (int, str))
        assert isinstance(choice.id, str)
    # In doubt as soon as a request was sent and no refusal came back.
    first = outcomes[0]
    if isinstance(first, Failure) and first.sent and choice.fallback:
        assert core.counts().unreported == 1
    if isinstance(first, Failure) and not first.sent and first.cause != "broken":
        assert core.counts().unreported == 0


@pytest.mark.parametrize("lost_first", [True, False])
def test_two_who_ask_under_one_key_get_one_answer(lost_first: bool) -> None:
    """One gets an answer, the other none: whoever is done first is right for both."""
    core = Core(SETTINGS)
    ask = Ask(idempotency_key="mine")
    outs = [HandOut("shop"), HandOut("shop")]
    first, second = (deciding.decide(core, "shop", ask, None, None, out) for out in outs)
    next(first)
    next(second)
    outcomes: list[Outcome] = [Failure("timeout", "no answer", sent=True), Reply(200, GOOD)]
    if not lost_first:
        outcomes.reverse()
    choices = []
    for talk, outcome in zip((first, second), outcomes, strict=True):
        with pytest.raises(StopIteration) as end:
            talk.send(outcome)
        choices.append(end.value.value)
    for out in outs:
        out.given = True
    assert choices[0] == choices[1]
    assert choices[0].fallback is lost_first
    assert core.counts().unreported == 0  # others may have the key, too


@pytest.mark.parametrize("status", [204, 301, 400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_a_good_body_with_another_status_is_no_answer(status: int) -> None:
    choice = finish(
        deciding.decide(Core(SETTINGS), "shop", Ask(), None, None, HandOut("shop")),
        [Reply(status, GOOD)],
    )
    assert choice.fallback == (not 200 <= status < 300)


@given(
    st.binary(max_size=300)
    | st.builds(
        lambda place, byte: (
            b"%s%c%s" % (response(200, GOOD)[:place], byte, response(200, GOOD)[place + 1 :])
        ),
        st.integers(0, len(response(200, GOOD)) - 1),
        st.integers(0, 255),
    ),
    st.integers(1, 50),
)
def test_bytes_are_an_answer_or_an_error_of_a_known_kind(data: bytes, size: int) -> None:
    """Random bytes, and the right answer with one byte changed, in parts of any size."""
    exchange = Exchange(SETTINGS)
    assert exchange.begin(Request("POST", "/v1/policies/shop/decide", b"{}", 0.0))
    reply = None
    try:
        for start in range(0, len(data), size):
            reply = exchange.receive(data[start : start + size])
            if reply is not None:
                break
        if reply is None:
            reply = exchange.receive(b"")
    except (h11.RemoteProtocolError, ConnectionError, TooLarge):
        return
    assert reply is not None
    assert 200 <= reply.status <= 999
