"""Run a library's policy and the oracle side by side, decision by decision.

Actions and events must be equal, margins and bounds equal up to rounding. A differing action is a
tie, counted and followed, only where the values that decide it lie within `TIE` of each other,
relative to their magnitude.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pytest

from handrail import InputError
from oracle.answer import Answer, Floats
from oracle.common import Common
from oracle.oracle import Oracle
from oracle.problems import Problem
from oracle.selection import select

TIE = 1e-12
CLOSE = 1e-9
MOST_TIES = 3


class Decision(Protocol):
    """What a policy returns."""

    @property
    def id(self) -> Any: ...
    @property
    def round(self) -> int: ...
    @property
    def action(self) -> Any: ...
    @property
    def event(self) -> str: ...
    @property
    def margin(self) -> float | None: ...
    @property
    def upper(self) -> float: ...
    @property
    def lower(self) -> float: ...


class Policy(Protocol):
    """A policy of the library."""

    @property
    def decide(self) -> Callable[..., Any]: ...
    @property
    def learn(self) -> Callable[..., Any]: ...
    @property
    def close(self) -> Callable[..., Any]: ...
    @property
    def fall_back(self) -> Callable[..., Any]: ...
    @property
    def played(self) -> Callable[..., Any]: ...


@dataclass
class Tally:
    """What was seen in a run."""

    events: Counter[str] = field(default_factory=Counter)
    ties: int = 0
    fallen: int = 0


@dataclass(frozen=True)
class Plan:
    """When rewards come: the chance of each delay, and what happens to those that never come.

    A reward comes after 0 to ``longest`` further rounds. With chance ``lost`` it never comes, and
    with chance ``closed`` that is told after as many rounds. Nothing is told of the others. With
    chance ``held`` the baseline is asked for, whatever the algorithm would play. With chance
    ``fallen`` it was played though it was not chosen, which is told after as many rounds, with
    chance ``choice`` as the caller's choice; its reward follows, or does not, like any other. With
    chance ``said`` it is said of a round that it was played, after as many rounds.
    """

    longest: int = 0
    at_once: float = 1.0
    lost: float = 0.0
    closed: float = 0.0
    held: float = 0.0
    fallen: float = 0.0
    choice: float = 0.0
    said: float = 0.0

    def hold(self, rng: np.random.Generator) -> bool:
        """Whether to hold the baseline in the round to come."""
        return self.held > 0 and bool(rng.random() < self.held)

    def wait(self, rng: np.random.Generator) -> int:
        """After how many further rounds something is told."""
        return 0 if rng.random() < self.at_once else int(rng.integers(self.longest + 1))

    def falls(self, rng: np.random.Generator) -> bool:
        """Whether the baseline is played in the round at hand, though it was not chosen."""
        return self.fallen > 0 and bool(rng.random() < self.fallen)


AT_ONCE = Plan()

Act = Callable[[], None]
After = Callable[[int, Any, Any], None]
"""Told the number of the round, the policy and the oracle."""


def run(
    policy: Policy,
    oracle: Oracle,
    problem: Problem,
    rounds: int,
    rng: np.random.Generator,
    plan: Plan = AT_ONCE,
    after: After | None = None,
) -> Tally:
    """Both decide ``rounds`` times; raises AssertionError at the first difference.

    ``after`` is called at the end of every round.
    """
    tally = Tally()
    due: dict[int, list[Act]] = {}
    for time in range(1, rounds + 1):
        told = problem.ask()
        hold = plan.hold(rng)
        decision: Decision = policy.decide(**told, hold=hold)
        answer = oracle.decide(**told, force=decision.action)
        if hold:
            answer = _held(answer)
        _check(decision, answer, tally)
        if plan.falls(rng) and decision.event != "baseline":
            assert answer.baseline is not None
            reward = problem.reward(answer.baseline)
            fall_later(policy, oracle, decision, reward, plan, rng, due)
            tally.fallen += 1
        else:
            reward = problem.reward(decision.action)
            put_off(policy, oracle, decision, reward, plan, rng, due)
        acts = due.pop(time, [])
        for index in rng.permutation(len(acts)):
            acts[index]()
        if after is not None:
            after(time, policy, oracle)
    print(f"events {dict(tally.events)}, ties {tally.ties}")
    assert tally.ties <= MOST_TIES, f"{tally.ties} ties"
    return tally


def put_off(
    policy: Policy,
    oracle: Common,
    decision: Decision,
    reward: float,
    plan: Plan,
    rng: np.random.Generator,
    due: dict[int, list[Act]],
) -> None:
    """Put what happens to this reward among the things that are due."""
    number = decision.round
    whom: Any = decision if rng.random() < 0.5 else decision.id
    if rng.random() < plan.said:
        _say_later(policy, oracle, decision, plan, rng, due)
    teaches = decision.event != "baseline" or decision.margin is None or oracle.learn_baseline
    if not teaches and rng.random() < 0.7:
        return  # a baseline decision needs no reward; one that comes is ignored
    wait = plan.wait(rng)
    kind = float(rng.random())

    def learn() -> None:
        assert policy.learn(whom, reward=reward) == oracle.learn(number, reward)

    def close() -> None:
        policy.close(decision.id)
        oracle.close(number)

    if kind >= plan.lost:
        due.setdefault(number + wait, []).append(learn)
    elif kind < plan.lost * plan.closed and teaches:
        due.setdefault(number + wait, []).append(close)


def _say_later(
    policy: Policy,
    oracle: Common,
    decision: Decision,
    plan: Plan,
    rng: np.random.Generator,
    due: dict[int, list[Act]],
) -> None:
    """Put the word that a round was played among the things that are due, or say it at once."""
    number = decision.round
    whom: Any = decision if rng.random() < 0.5 else decision.id

    def say() -> None:
        expected = oracle.played(number)
        if expected == "late" and oracle.history.window is None:
            with pytest.raises(InputError, match="settled already"):
                policy.played(whom)
        else:
            assert policy.played(whom) == expected

    if oracle.history.needs_word:
        due.setdefault(number + plan.wait(rng), []).append(say)
    else:
        say()


def fall_later(
    policy: Policy,
    oracle: Common,
    decision: Decision,
    reward: float,
    plan: Plan,
    rng: np.random.Generator,
    due: dict[int, list[Act]],
) -> None:
    """Put the report that the baseline was played among the things that are due, and its reward."""
    number = decision.round
    wait = plan.wait(rng)
    after = int(rng.integers(1, plan.longest + 2))
    kind = float(rng.random())
    whom: Any = decision if rng.random() < 0.5 else decision.id
    because = "choice" if rng.random() < plan.choice else "no-answer"
    stays = because == "choice" and oracle.stays_in_s
    teaches = stays or oracle.awaits_baseline
    if rng.random() < plan.said / 2:  # what was shown first may be taken back
        assert policy.played(whom) == oracle.played(number)

    def fall() -> None:
        told = {} if because == "no-answer" else {"because": because}
        status = policy.fall_back(whom, **told)
        assert status == oracle.fall_back(number, because)
        if teaches:
            assert policy.fall_back(whom, because=because) == status
        if status == "choice":
            with pytest.raises(InputError):
                policy.fall_back(whom)
        if status == "choice" and oracle.history.needs_word:
            with pytest.raises(InputError):
                policy.played(whom)

    def learn() -> None:
        assert policy.learn(whom, reward=reward) == oracle.learn(number, reward)

    def close() -> None:
        policy.close(whom)
        oracle.close(number)

    due.setdefault(number + wait, []).append(fall)
    if not teaches or kind < plan.lost * (1 - plan.closed):
        return
    due.setdefault(number + wait + after, []).append(close if kind < plan.lost else learn)


def _held(answer: Answer) -> Answer:
    """The same round if the baseline is played whatever was chosen."""
    assert answer.baseline is not None
    margin = answer.baseline_margin
    return replace(answer, action=answer.baseline, event="baseline", margin=margin, held=True)


def _check(decision: Decision, answer: Answer, tally: Tally) -> None:
    tally.events[decision.event] += 1
    action = decision.action
    margin = answer.margin
    if action != answer.action or decision.event != answer.event:
        assert tied(answer, action), f"not a tie: {decision} against {answer}"
        tally.ties += 1
        if margin is not None:
            at_baseline = action == answer.baseline
            margin = answer.baseline_margin if at_baseline else float(answer.margins[action])
    agree = (
        decision.round == answer.round
        and same(decision.upper, float(answer.uppers[action]))
        and same(decision.lower, float(answer.lowers[action]))
        and (margin is None) == (decision.margin is None)
        and (margin is None or decision.margin is None or same(decision.margin, margin))
    )
    assert agree, f"{decision} against {answer}"


def same(one: float, other: float) -> bool:
    """Equal up to rounding; infinities are equal to themselves only."""
    return one == other or abs(one - other) <= CLOSE * (1 + abs(other)) < np.inf


def tied(answer: Answer, action: int) -> bool:
    """Whether a shift of every value by `TIE` in favour of ``action`` makes it the choice.

    In favour of an action: its own bounds and margin up, those of all others down. In favour of the
    baseline: all others down. If the action is the choice already, only the event is in question,
    which hangs on the largest upper bounds alone.
    """
    if answer.held:
        return False
    shift = TIE * np.maximum(np.abs(answer.uppers), np.abs(answer.lowers))
    shift[~np.isfinite(shift)] = 0.0
    if action == answer.action:
        out = {answer.baseline, *answer.retired}
        others = [other for other in range(len(shift)) if other not in out]
        tops = np.sort(answer.uppers[others] + shift[others])[-2:]
        if len(tops) < 2 or not np.isfinite(tops[-1]):
            return False
        return bool(tops[1] - tops[0] <= 2 * float(np.max(shift[others])))
    sign = np.full(len(shift), -1.0)
    sign[action] = 1.0
    if action == answer.baseline and answer.selection != "optimistic":
        sign[action] = 0.0
    margins = answer.margins + sign * TIE * answer.magnitude
    uppers = answer.uppers + sign * shift
    lowers = answer.lowers + sign * shift
    return choice(answer, uppers, lowers, margins) == action


def choice(answer: Answer, uppers: Floats, lowers: Floats, margins: Floats) -> int:
    """What would be played with these bounds and margins."""
    mean = answer.baseline_mean or (np.nan, np.nan)
    rule, baseline = answer.selection, answer.baseline
    return select(rule, uppers, lowers, margins, baseline, mean, answer.retired)
