"""Answers lost on purpose after they were committed, between a real service and both clients."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import handrail
from client.askers import SyncAsker
from client.losing import LIMIT, Proxy, key_of, losing, served
from client.misbehaving import Asked
from handrail.client import Choice, ServiceError
from handrail.service.shown import DecisionView

MEAN = 0.5
SETTINGS: dict[str, Any] = {
    "arms": ["current", "a", "b"],
    "baseline": "current",
    "baseline_mean": MEAN,
    "alpha": 0.5,
    "delta": 0.1,
    "reward_range": (0.0, 1.0),
}
INNER: dict[str, Any] = {**SETTINGS, "arms": 3, "baseline": 0, "confirm": True}
"""The same policy inside this process."""
NUMBERS = {"current": 0, "a": 1, "b": 2}


class Service(NamedTuple):
    url: str
    """Straight to it."""
    lossy: str
    """Through the proxy."""
    proxy: Proxy
    process: subprocess.Popen[str]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of this file; each has policies of its own."""
    database = tmp_path_factory.mktemp("lost") / "handrail.db"
    with served(database) as (url, process), losing(url) as (lossy, proxy):
        with handrail.Client(url) as client:
            end = time.monotonic() + LIMIT
            while not client.ready():
                assert time.monotonic() < end
                time.sleep(0.05)
        yield Service(url, lossy, proxy, process)
    check_the_log(database)


def check_the_log(database: Path) -> None:
    """Every policy of these tests passes the audit."""
    command = [sys.executable, "-m", "handrail", "audit", str(database)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def policy(service: Service, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new policy; the proxy loses nothing before and after."""
    name = f"p{zlib.crc32(request.node.nodeid.encode())}"
    service.proxy.lose = service.proxy.refuse = lambda _: False
    with handrail.Client(service.url, patience=LIMIT) as client:
        client.create_policy(name, "HANDRAIL", **SETTINGS)
    yield name
    service.proxy.lose = service.proxy.refuse = lambda _: False


def is_decide(asked: Asked) -> bool:
    return asked.path.endswith("/decide")


def is_report(asked: Asked) -> bool:
    return asked.path.endswith("/fallback")


def lose_some(seed: int, share: float) -> Callable[[Asked], bool]:
    """Lose all answers under some keys, whoever asks how often."""
    rng = random.Random(seed)
    drawn: dict[str, bool] = {}

    def lose(asked: Asked) -> bool:
        return is_decide(asked) and drawn.setdefault(key_of(asked), rng.random() < share)

    return lose


def play(client: SyncAsker, policy: str, rounds: int) -> list[tuple[Choice, float | None]]:
    """Ask for rounds and give the rewards of those that were answered: 1 or 0 by turns."""
    played: list[tuple[Choice, float | None]] = []
    for number in range(rounds):
        choice = client.call("decide", policy, baseline=None)
        reward = None
        if choice.awaits_reward:
            reward = float(number % 2)
            status = client.call("reward", policy, choice, reward).status
            assert status in ("learned", "waiting")
        played.append((choice, reward))
    return played


def test_lost_answers_count_nothing_until_the_fallback_is_heard_of(
    asker: Callable[..., SyncAsker], service: Service, policy: str
) -> None:
    """Seeded: which answers are lost is always the same."""
    rounds = 60
    client = asker(service.lossy, baselines={policy: "current"}, timeout=LIMIT, failures=1_000)
    service.proxy.lose = lose_some(seed=1, share=0.4)
    service.proxy.refuse = is_report
    played = play(client, policy, rounds)
    views: list[DecisionView] = client.go_through("decisions", policy)

    # Every round was committed, also those whose answers were lost.
    assert [view.round for view in views] == list(range(1, rounds + 1))
    lost = {view.round for view, (choice, _) in zip(views, played, strict=True) if choice.fallback}
    explored = {view.round for view in views if view.event != "baseline"}
    assert len(lost & explored) > 5
    assert len(explored - lost) > 5
    assert all(choice.action == "current" for choice, _ in played if choice.fallback)

    # Nobody has said what was played: they count nothing, whatever is known of their actions.
    assert any(views[n - 1].lower > 0.0 for n in lost & explored)
    budget = client.call("budget", policy)
    assert budget.promised == 0.0
    assert budget.explored_rounds == len(explored)
    assert budget.pending == len(lost & explored)

    # The same policy in this process, with the same rounds unconfirmed, says the same.
    twin = handrail.make_policy("HANDRAIL", **INNER)
    unconfirmed = []
    for view, (_, reward) in zip(views, played, strict=True):
        decision = twin.decide()
        assert (decision.action, decision.event) == (NUMBERS[str(view.action)], view.event)
        assert decision.margin == view.margin
        if reward is not None:
            twin.learn(decision, reward=reward)
        elif view.event != "baseline":
            unconfirmed.append(decision)

    # Now the service hears of it: baseline rounds from the start, and nothing learned from them.
    service.proxy.refuse = lambda _: False
    assert client.flush(LIMIT)
    assert client.counts().reported == len(lost)
    after = client.go_through("decisions", policy)
    assert {view.round for view in after if view.fell_back} == lost & explored
    budget = client.call("budget", policy)
    assert budget.promised == budget.pending == 0
    assert budget.explored_rounds == len(explored - lost)
    assert budget.baseline_rounds == rounds - len(explored - lost)
    known = client.call("estimates", policy).actions
    given = [reward for _, reward in played if reward is not None]
    assert sum(arm["rewards"] for arm in known) == len(given) == len(explored - lost)

    # What follows is what follows in this process, where the same rounds fell back.
    service.proxy.lose = lambda _: False
    for decision in unconfirmed:
        twin.fall_back(decision)
    for _ in range(5):
        choice, decision = client.call("decide", policy), twin.decide()
        assert (choice.margin, NUMBERS[choice.action]) == (decision.margin, decision.action)


def test_an_answer_lost_once_is_asked_for_again(
    asker: Callable[..., SyncAsker], service: Service, policy: str
) -> None:
    """The same key gets the same decision: nothing falls back, no round is decided twice."""
    seen: set[str] = set()

    def first(asked: Asked) -> bool:
        new = is_decide(asked) and key_of(asked) not in seen
        if new:
            seen.add(key_of(asked))
        return new

    service.proxy.lose = first
    client = asker(service.lossy, baselines={policy: "current"}, timeout=LIMIT)
    played = play(client, policy, 20)
    assert all(choice.repeated and not choice.fallback for choice, _ in played)
    assert [choice.round for choice, _ in played] == list(range(1, 21))
    assert client.call("show", policy).round == 20


def test_rounds_that_were_never_confirmed_teach_nothing_when_their_window_closes(
    asker: Callable[..., SyncAsker], service: Service, policy: str
) -> None:
    name = f"{policy}-window"
    client = asker(service.lossy, baselines={name: "current"}, timeout=LIMIT, failures=1_000)
    client.call("create_policy", name, "HANDRAIL", **SETTINGS, window=3)
    service.proxy.lose = lose_some(seed=2, share=0.5)
    service.proxy.refuse = is_report
    played = play(client, name, 40)
    views = client.go_through("decisions", name)
    explored = {view.round for view in views if view.event != "baseline"}
    lost = {view.round for view, (choice, _) in zip(views, played, strict=True) if choice.fallback}
    closed = {number for number in explored if number <= 40 - 3}
    assert len(closed & lost) > 3
    assert client.call("budget", name).pending == len(explored - closed)
    known = client.call("estimates", name).actions
    assert sum(arm["rewards"] for arm in known) == len(closed - lost)

    # A report after the window changes nothing more, and is no error.
    service.proxy.refuse = lambda _: False
    assert client.flush(LIMIT)
    assert client.counts().forgotten == 0
    after = client.go_through("decisions", name)
    assert {view.round for view in after if view.fell_back} == (lost & explored) - closed
    again = client.call("estimates", name).actions
    assert [arm["rewards"] for arm in again] == [arm["rewards"] for arm in known]


WINDOW = 3
DEFAULT = 1.0
"""The highest reward: what is settled with it by mistake makes the margin too large."""


@pytest.mark.parametrize("mean", [MEAN, "learned"])
def test_only_answers_that_were_handed_out_take_the_default(
    asker: Callable[..., SyncAsker], service: Service, policy: str, mean: float | str
) -> None:
    """Half of the answers are lost, and no fallback is heard of; every third reward is missing.

    With a learned mean the baseline's rounds teach as well, and only if they were handed out.
    """
    rounds, name = 60, f"{policy}-default"
    client = asker(service.lossy, baselines={name: "current"}, timeout=LIMIT, failures=1_000)
    given = {**SETTINGS, "baseline_mean": mean, "window": WINDOW, "default_reward": DEFAULT}
    client.call("create_policy", name, "HANDRAIL", **given)
    service.proxy.lose = lose_some(seed=3, share=0.5)
    service.proxy.refuse = is_report
    choices: list[Choice] = []
    for number in range(rounds):
        choices.append(client.call("decide", name))
        if choices[-1].awaits_reward and number % 3:
            client.call("reward", name, choices[-1], float(number % 2))
    client.flush(0.001)  # the fallbacks are refused
    while client.counts().played_unsaid:
        client.flush(0.1)
    views: list[DecisionView] = client.go_through("decisions", name)
    lines = client.go_through("events", name)

    # Exactly the answers that were handed out are said to be played, each of them once.
    handed = [choice.round for choice in choices if choice.say_played and choice.round is not None]
    said = [line.event["round"] for line in lines if line.event["kind"] == "played"]
    assert said == handed
    asked = [view.round for view in views if mean == "learned" or view.event != "baseline"]
    assert len(asked) > len(handed) > 10
    assert handed == [number for number in asked if not choices[number - 1].fallback]

    # Only those count: with their rewards, or the default where there is none.
    worth = {
        number: float((number - 1) % 2) if (number - 1) % 3 else DEFAULT
        for number in handed
        if number <= rounds - WINDOW
    }
    assert DEFAULT in worth.values()
    explored = {view.round for view in views if view.event != "baseline"}
    budget = client.call("budget", name)
    assert budget.promised == 0
    assert budget.rewards == sum(worth[number] for number in explored & worth.keys())
    known = client.call("estimates", name).actions
    assert sum(arm["rewards"] for arm in known) == len(worth)

    # The same policy in this process, told the same, decides the same.
    twin = handrail.make_policy(
        "HANDRAIL", **{**INNER, "baseline_mean": mean, "window": WINDOW, "default_reward": DEFAULT}
    )
    for number, (view, choice) in enumerate(zip(views, choices, strict=True)):
        decision = twin.decide()
        assert (decision.action, decision.event) == (NUMBERS[str(view.action)], view.event)
        assert decision.margin == view.margin
        if choice.say_played:
            twin.played(decision)
            if number % 3:
                twin.learn(decision, reward=float(number % 2))

    # A report after the window is no error, and changes nothing.
    service.proxy.refuse = lambda _: False
    assert client.flush(LIMIT)
    assert client.counts().forgotten == 0
    assert client.call("budget", name).rewards == budget.rewards


def test_what_somebody_chose_earns_what_the_baseline_earned(
    asker: Callable[..., SyncAsker], service: Service, policy: str
) -> None:
    """Such a round stays one of another action, and teaches nothing about it."""
    client = asker(service.url, baselines={policy: "current"}, timeout=LIMIT)
    choice = client.call("decide", policy)
    while choice.event == "baseline":
        choice = client.call("decide", policy)
    assert client.call("fallback", policy, choice, because="choice").status == "choice"
    assert client.call("reward", policy, choice, 1.0).status == "learned"
    budget = client.call("budget", policy)
    assert (budget.explored_rounds, budget.rewards) == (1, 1.0)
    known = client.call("estimates", policy).actions
    assert sum(arm["rewards"] for arm in known) == 0
    (fell,) = [
        line.event
        for line in client.go_through("events", policy)
        if line.event["kind"] == "fell-back"
    ]
    assert fell["because"] == "choice"


def test_a_batch_is_lost_as_a_whole(
    asker: Callable[..., SyncAsker], service: Service, policy: str
) -> None:
    client = asker(service.lossy, baselines={policy: "current"}, timeout=LIMIT)
    service.proxy.lose = is_decide
    choices = client.call("decide_many", policy, [{} for _ in range(30)])
    assert all(choice.fallback for choice in choices)
    assert client.flush(LIMIT)
    views = client.go_through("decisions", policy)
    explored = [view for view in views if view.event != "baseline"]
    assert len(views) == 30
    assert explored
    assert all(view.fell_back for view in explored)
    assert client.call("budget", policy).explored_rounds == 0


def test_a_decision_made_after_the_client_gave_up_is_reported(
    asker: Callable[..., SyncAsker], service: Service, policy: str
) -> None:
    """The service stands still; the request waits in its socket and is carried out later."""
    client = asker(service.url, baselines={policy: "current"}, timeout=0.2, failures=1_000)
    with handrail.Client(service.url, patience=LIMIT) as eager:
        while eager.decide(policy, baseline="current", timeout=LIMIT).event == "baseline":
            pass  # until rounds are explored
    before = client.call("show", policy).round
    service.process.send_signal(signal.SIGSTOP)
    try:
        choices = [client.call("decide", policy) for _ in range(3)]
    finally:
        service.process.send_signal(signal.SIGCONT)
    assert all(str(choice.error).startswith("timeout: ") for choice in choices)
    assert client.flush(LIMIT)
    late = client.go_through("decisions", policy, after=before)
    assert late
    assert all(view.fell_back or view.event == "baseline" for view in late)
    assert client.counts().reported == len(late)


def test_who_asks_under_a_key_that_fell_back_gets_the_baseline(
    asker: Callable[..., SyncAsker], service: Service, policy: str
) -> None:
    """It counts as a baseline round: nobody may be told to explore under its key any more."""
    client = asker(service.url, baselines={policy: "current"}, timeout=LIMIT)
    key = None
    while key is None:
        given = f"visit-{client.counts().decisions}"
        choice = client.call("decide", policy, idempotency_key=given)
        if choice.event != "baseline":
            key = choice.key
    assert client.call("decide", policy, idempotency_key=key).action == choice.action
    assert client.call("fallback", policy, choice).status == "baseline"
    other = asker(service.url, baselines={policy: "current"}, timeout=LIMIT)
    for each in (client, other):
        again = each.call("decide", policy, idempotency_key=key)
        assert (again.action, again.event, again.id) == ("current", "baseline", choice.id)
        assert (again.repeated, again.fallback, again.awaits_reward) == (True, False, False)
        many = each.call("decide_many", policy, [{}, {"idempotency_key": key}])
        assert [each.repeated for each in many] == [False, True]
        assert many[1].action == "current"
        assert each.counts().fallbacks == {}


@pytest.mark.parametrize("default", [None, 0.0])
def test_who_got_no_answer_under_a_shared_key_does_not_undo_what_another_played(
    asker: Callable[..., SyncAsker], service: Service, policy: str, default: float | None
) -> None:
    """Every round is credited what was earned, not what the baseline earns on average."""
    rounds, name = 30, f"{policy}-shared"
    first = asker(service.url, baselines={name: "current"}, timeout=LIMIT)
    second = asker(service.lossy, baselines={name: "current"}, timeout=LIMIT, failures=1_000)
    given = {} if default is None else {"window": rounds, "default_reward": default}
    first.call("create_policy", name, "HANDRAIL", **SETTINGS, **given)
    service.proxy.lose = is_decide
    played: list[Choice] = []
    for number in range(rounds):
        key = f"visit-{number}"
        played.append(first.call("decide", name, idempotency_key=key))
        assert first.flush(LIMIT)
        assert second.call("decide", name, idempotency_key=key).fallback
        assert second.flush(LIMIT)
        if played[-1].say_played and number % 2:
            with pytest.raises(ServiceError) as caught:
                second.call("fallback", name, f"key:{key}")
            assert (caught.value.status, caught.value.field) == (409, "decision")
        if played[-1].awaits_reward:
            status = first.call("reward", name, played[-1], 0.0).status
            assert status == ("learned" if default is None else "waiting")
    explored = [choice for choice in played if choice.event != "baseline"]
    assert len(explored) > 3
    assert not any(view.fell_back for view in first.go_through("decisions", name))
    budget = first.call("budget", name)
    assert budget.explored_rounds == len(explored)
    assert budget.baseline_rounds == rounds - len(explored)
    counts = second.counts()
    assert counts.fallbacks == {"broken": rounds}
    assert (counts.reported, counts.forgotten, counts.unreported) == (0, 0, 0)


def test_log_and_iterators(asker: Callable[..., SyncAsker], service: Service, policy: str) -> None:
    client = asker(service.url, baselines={policy: "current"}, timeout=LIMIT)
    play(client, policy, 10)
    lines = client.go_through("events", policy)
    assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
    assert client.call("show", policy).head.hash == lines[-1].hash
    assert policy in [view.name for view in client.go_through("policies")]
    assert client.call("change_mode", policy, "paused").mode == "paused"
    assert client.call("decide", policy).action == "current"
    assert client.call("retire_arm", policy, "b").arm == "b"
    client.call("create_policy", f"{policy}-more", "HANDRAIL", **SETTINGS, arms_ever=4)
    assert client.call("add_arm", f"{policy}-more", "c").arm == "c"
    assert client.call("archive", policy).archived
    choice = client.call("decide", policy)
    assert str(choice.error).startswith("refused: 409: ")
    assert client.counts().unreported == 0
