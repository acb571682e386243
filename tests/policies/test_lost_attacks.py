"""Attacks by decisions that get lost, are overruled or are reported only when they succeed.

Every budget is the true one, from the means of what was played; no run may let it fall below 0.
Each run may fail with probability delta by its promise, so that a test of n runs has a false alarm
of at most n delta; the seeds are fixed, so that it passes always or never. Beside each attack goes
a control that breaks: the same with the rule of the release before, or with a caller who says what
is not true. It shows that the attack would be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import handrail
from handrail import Policy

DATA = Path(__file__).parent / "data"
DELTA = 0.001
RUNS = 4  # of each attack: false alarm 0.4 %
EXACT = 1e-9

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore:window without:handrail.errors.NoGuaranteeWarning")


def lowest(attack: Callable[..., float], *what: Any) -> list[float]:
    """The smallest true budget of each run, 0 at the start among them."""
    return [attack(np.random.default_rng([210, seed]), *what) for seed in range(RUNS)]


def two(name: str, baseline_mean: float | str, **more: Any) -> Policy:
    """Arm 0 of two is the baseline, or a guard's action "old"."""
    given: dict[str, Any] = {"baseline": 0, "baseline_mean": baseline_mean, "alpha": 0.1}
    given |= {"arms": 2} if name != "GUARD" else {"baseline": "old"}
    given |= {"delta": DELTA, "reward_range": (0.0, 1.0)}
    return handrail.make_policy(name, **{**given, **more})


def ask(policy: Policy) -> handrail.Decision:
    """One round; a guard is asked for "new"."""
    guard = policy.algorithm.selection == "proposal"
    return policy.decide(proposal="new" if guard else None)


# ---------------------------------------------------------------- a default for what nobody played


def _defaults(rng: np.random.Generator, confirm: bool) -> float:
    """HANDRAIL, default 1, baseline .9, arms .3: the first 1,000 answers get lost."""
    policy = handrail.make_policy(
        "HANDRAIL", arms=3, baseline=0, baseline_mean=0.9, alpha=0.05, delta=DELTA,
        reward_range=(0, 1), window=5, default_reward=1.0, confirm=confirm,
    )  # fmt: skip
    budget, least, lost = 0.0, 0.0, 0
    for _ in range(1600):
        decision = policy.decide()
        played = decision.action
        if played != 0 and lost < 1000:
            played, lost = 0, lost + 1
        mean = 0.9 if played == 0 else 0.3
        budget += mean - 0.95 * 0.9
        least = min(least, budget)
        if played != 0:
            if confirm:
                assert policy.played(decision) == "played"
            policy.learn(decision, float(rng.random() < mean))
    return least


def test_a_high_default_is_no_reward_of_what_was_lost() -> None:
    """The rule before took 1 for each lost answer: 20 of 20 runs broke, down to -70.

    It is what `confirm=False` does with them, which believes that they were played.
    """
    assert max(lowest(_defaults, False)) < -20.0
    assert min(lowest(_defaults, True)) >= -EXACT


def _direction(rng: np.random.Generator, confirm: bool) -> float:
    """LinHANDRAIL over contexts, default 0: three of four answers in one direction get lost.

    theta = (.9, .9). Context A offers (1, 0), B offers (-1/2, 1), worth .45, and C an action worth
    .09; the baseline has (0, mu_b/.9) with mu_b = .15, .55 and .9. Zeros for A pull theta_1 down,
    and the bound of (-1/2, 1) up. The noise is +- .05.
    """
    theta = np.array([0.9, 0.9])
    policy = handrail.make_policy(
        "LinHANDRAIL", dim=2, theta_bound=1.5, feature_bound=1.5, alpha=0.02, delta=DELTA,
        reward_range=(0, 1), noise=0.05, learn_baseline="mean", window=5, default_reward=0.0,
        confirm=confirm,
    )  # fmt: skip
    budget, least = 0.0, 0.0
    for _ in range(1500):
        context = int(rng.choice(3, p=[0.15, 0.6, 0.25]))
        row = [(1.0, 0.0), (-0.5, 1.0), (0.0, 0.1)][context]
        usual = (0.15, 0.55, 0.9)[context]
        rows = np.array([(0.0, usual / 0.9), row])
        decision = policy.decide(features=rows, baseline=0, baseline_mean=usual)
        played = decision.action == 1 and not (context == 0 and rng.random() < 0.75)
        mean = float(theta @ row) if played else usual
        budget += mean - 0.98 * usual
        least = min(least, budget)
        if played:
            if confirm:
                assert policy.played(decision) == "played"
            policy.learn(decision, mean + 0.05 * float(rng.choice((-1, 1))))
    return least


def test_the_lowest_default_pulls_no_other_action_up() -> None:
    """The rule before: 8 of 8 runs broke, true budget -17 to -28, certified +47 to +56."""
    assert max(lowest(_direction, False)) < -5.0
    assert min(lowest(_direction, True)) >= -EXACT


def _learned(rng: np.random.Generator, confirm: bool, name: str) -> float:
    """Baseline .5, the other .3, default 0: of the baseline's answers 60 % are never reported."""
    policy = two(name, "learned", window=5, default_reward=0.0, confirm=confirm)
    budget, least = 0.0, 0.0
    for _ in range(2500):
        decision = ask(policy)
        usual = decision.event == "baseline"
        mean = 0.5 if usual else 0.3
        budget += mean - 0.9 * 0.5
        least = min(least, budget)
        if usual and rng.random() < 0.6:
            continue
        if confirm:
            assert policy.played(decision) == "played"
        policy.learn(decision, float(rng.random() < mean))
    return least


@pytest.mark.parametrize("name", ["GUARD", "HANDRAIL"])
def test_unreported_answers_do_not_lower_a_learned_mean(name: str) -> None:
    """The rule before learned 0 from each of them: 20 of 20 guards broke, down to -246."""
    assert max(lowest(_learned, False, name)) < -20.0
    assert min(lowest(_learned, True, name)) >= -EXACT


def _timeouts(rng: np.random.Generator) -> float:
    """Baseline .9, the proposal .3, default 0: six of ten answers come too late, at random.

    All of these are reported, by clients that cannot hand in what the baseline earned then.
    """
    policy = two("GUARD", "learned", alpha=0.2, window=5, default_reward=0.0, confirm=True)
    budget, least = 0.0, 0.0
    for _ in range(1600):
        decision = ask(policy)
        usual = decision.event == "baseline"
        late = not usual and rng.random() < 0.6
        mean = 0.9 if usual or late else 0.3
        budget += mean - 0.8 * 0.9
        least = min(least, budget)
        if late:
            assert policy.fall_back(decision) == "baseline"
            continue
        assert policy.played(decision) == "played"
        policy.learn(decision, float(rng.random() < mean))
    return least


def test_timeouts_do_not_lower_a_learned_mean() -> None:
    """The rule before learned the default from each of them: 4 of 4 runs broke.

    `handrail.certificate.broken` has that rule, as a control of the certificate.
    """
    assert min(lowest(_timeouts)) >= -EXACT


def _answers(rng: np.random.Generator, name: str, selective: bool, default: bool) -> float:
    """Baseline .9 for half of the users and .1 for the others, the other action .25 for all.

    Of the baseline's answers 45 % are lost: anybody's, or 90 % of those to its better half.
    """
    told: dict[str, Any] = {"window": 5, "default_reward": 0.0} if default else {}
    policy = two(name, "learned", confirm=True, **told)
    budget, least = 0.0, 0.0
    for _ in range(4000):
        decision = ask(policy)
        better, usual = rng.random() < 0.5, decision.event == "baseline"
        budget += (0.5 if usual else 0.25) - 0.45
        least = min(least, budget)
        share = (0.9 if better else 0.0) if selective else 0.45
        if usual and rng.random() < share:
            continue
        if default:
            assert policy.played(decision) == "played"
        mean = (0.9 if better else 0.1) if usual else 0.25
        policy.learn(decision, float(rng.random() < mean))
    return least


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("name", ["GUARD", "HANDRAIL"])
def test_a_learned_mean_is_that_of_the_users_who_are_not_lost(name: str, default: bool) -> None:
    """Nobody can see that the others differ: it is believed, and noted."""
    assert max(lowest(_answers, name, True, default)) < -20.0
    assert min(lowest(_answers, name, False, default)) >= -EXACT
    belief = "who is lost is believed not to depend on the user"
    assert any(belief in note for note in two(name, "learned", confirm=True).notes)
    assert not any(belief in note for note in two(name, "learned").notes)
    assert not any(belief in note for note in two(name, 0.5, confirm=True).notes)


# ---------------------------------------------------------------- users differ


def _selective(rng: np.random.Generator, policy: Policy) -> float:
    """Half of the users give the baseline .9 and half .1; the answers for the latter get lost.

    Its mean is .5; the arm earns .6 of anybody. A round decided to be the arm's is worth
    (.6 + .1) / 2 = .35 in expectation over users, .45 is owed.
    """
    budget, least = 0.0, 0.0
    for _ in range(1500):
        decision = ask(policy)
        lost = rng.random() < 0.5
        budget += 0.05 if decision.event == "baseline" else 0.35 - 0.45
        least = min(least, budget)
        if decision.event != "baseline" and not lost:
            policy.learn(decision, float(rng.random() < 0.6))
    return least


@pytest.mark.parametrize("name", ["HANDRAIL", "CUCB2", "CUCB-S", "CUCB-M", "GUARD"])
def test_those_who_get_lost_may_be_those_the_baseline_serves_badly(name: str) -> None:
    """Credited min(lower, mu_b) as of its decision, 20 of 20 runs of HANDRAIL broke (-91 to -119).

    A file of that release still does.
    """
    fresh = [two(name, 0.5, confirm=True) for _ in range(RUNS)]
    assert min(lowest(lambda rng: _selective(rng, fresh.pop()))) >= -EXACT
    if name == "HANDRAIL":
        old = DATA / "unconfirmed-2.handrail"
        assert max(lowest(lambda rng: _selective(rng, handrail.load_policy(old)))) < -20.0


Reason = Literal["no-answer", "choice"]


def _overruled(rng: np.random.Generator, because: Reason, name: str, told: bool) -> float:
    """The caller prefers the baseline for the half of the users who give it .1 of .9 and .1.

    The other half give the arm .5: a round decided to be the arm's is worth (.5 + .1) / 2 = .3.
    The baseline's reward of such a round is reported (``told``), or nothing more of it.
    """
    policy = two(name, 0.5, confirm=True)
    budget, least = 0.0, 0.0
    for _ in range(1500):
        decision = ask(policy)
        chosen = rng.random() < 0.5
        budget += 0.05 if decision.event == "baseline" else 0.3 - 0.45
        least = min(least, budget)
        if decision.event == "baseline":
            continue
        if chosen:
            status = policy.fall_back(decision, because=because)
            assert status == ("choice" if because == "choice" else "baseline")
            if told and because == "choice":
                policy.learn(decision, float(rng.random() < 0.1))
        else:
            policy.learn(decision, float(rng.random() < 0.5))
    return least


@pytest.mark.parametrize("name", ["GUARD", "HANDRAIL", "CUCB-S"])
def test_fallbacks_by_choice_may_depend_on_the_user(name: str) -> None:
    """Counted as baseline rounds, 20 of 20 runs broke, true budget -150 to -200.

    So do they when a caller says "no-answer" of his own choices: that belief is his.
    """
    assert max(lowest(_overruled, "no-answer", name, True)) < -20.0
    for told in (True, False):
        assert min(lowest(_overruled, "choice", name, told)) >= -EXACT


# ---------------------------------------------------------------- the decision at hand


def _lost_now(rng: np.random.Generator, policy: Policy, chosen: bool) -> float:
    """The arm is worth .9 and the baseline .5; from the sixth on, what is decided earns nothing.

    The answer is lost, or the caller chose the baseline for a user who gives it nothing.
    """
    rows = np.eye(2)
    varies = policy.actions is None
    told: dict[str, Any] = {"features": rows, "baseline": 0, "baseline_mean": 0.5}
    budget, least, plays = 0.0, 0.0, 0
    for _ in range(300):
        decision = policy.decide(**told) if varies else policy.decide()
        if decision.event == "baseline":
            budget += 0.05
            continue
        plays += 1
        budget += (0.9 if plays <= 5 else 0.0) - 0.45
        least = min(least, budget)
        if plays <= 5:
            policy.learn(decision, 0.9 + 0.01 * rng.standard_normal())
        elif chosen:
            policy.fall_back(decision, because="choice")
    return least


KINDS = ["CUCB-Or", "HANDRAIL", "CUCB2", "LinHANDRAIL"]
AT_HAND = [*((name, chosen) for name in KINDS for chosen in (False, True)), ("contexts", False)]
"""Over contexts with a mean for each a chosen round is the baseline's, and counts as such."""


@pytest.mark.parametrize(("name", "chosen"), AT_HAND)
def test_the_decision_at_hand_may_be_lost_too(name: str, chosen: bool) -> None:
    """Counted at its lower bound, every run of each fell to -0.65 to -0.9, a round's reward."""
    common: dict[str, Any] = {"alpha": 0.1, "delta": DELTA, "noise": 0.01, "confirm": True}
    told: dict[str, Any] = {"baseline": 0, "baseline_mean": 0.5}
    if name == "CUCB-Or":
        told |= {"arms": 2, "true_means": [0.5, 0.9]}
    elif name == "LinHANDRAIL":
        told |= {"features": np.eye(2), "theta_bound": 1.1}
    elif name == "contexts":
        told = {"dim": 2, "theta_bound": 1.1}
    else:
        told |= {"arms": 2}
    if name == "CUCB2":
        told |= {"width": "mixture", "cumulative": "mixture"}
    named = "LinHANDRAIL" if name == "contexts" else name
    fresh = [handrail.make_policy(named, **told, **common) for _ in range(RUNS)]
    assert min(lowest(lambda rng: _lost_now(rng, fresh.pop(), chosen))) >= -EXACT


# ---------------------------------------------------------------- clicks come, non-clicks never


def _clicks(rng: np.random.Generator, policy: Policy) -> float:
    """Baseline .6, the other .15, alpha .4: only rewards of 1 are ever reported."""
    budget, least = 0.0, 0.0
    for _ in range(1500):
        decision = ask(policy)
        usual = decision.event == "baseline"
        budget += (0.6 if usual else 0.15) - 0.6 * 0.6
        least = min(least, budget)
        if not usual and rng.random() < 0.15:
            policy.learn(decision, 1.0)
    return least


def _clicks_of(rng: np.random.Generator, name: str, told: dict[str, Any]) -> float:
    return _clicks(rng, two(name, 0.6, **told))


@pytest.mark.parametrize("name", ["GUARD", "CUCB2", "CUCB-M"])
def test_what_is_missing_when_its_window_closes_earned_the_lowest_reward(name: str) -> None:
    """Waiting for non-clicks for ever, 20 of 20 runs of CUCB2 broke (-271, certified +335).

    Of guards it was 9 of 20. A file of that release still does (HANDRAIL: -306). Where the past
    rests on arms' bounds too, those know clicks alone: of that `make_policy` warns (test_late.py).
    """
    for confirm in (True, False):
        told = {"alpha": 0.4, "window": 5, "confirm": confirm}
        assert min(lowest(_clicks_of, name, told)) >= -EXACT
    if name == "CUCB2":
        old = DATA / "clicks-2.handrail"
        assert max(lowest(lambda rng: _clicks(rng, handrail.load_policy(old)))) < -100.0
