"""Guards: small cases worked out by hand, longer ones against a plain transcription."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError, Policy
from handrail.bounds.kl import kl_interval
from handrail.policies.notes import FOR_WHOM, UNNAMED

ALPHA, DELTA = 0.5, 0.1


def make(**changes: Any) -> Policy:
    given: dict[str, Any] = {"baseline": "old", "baseline_mean": 0.5, "alpha": ALPHA}
    given |= {"delta": DELTA, "reward_range": (0.0, 1.0), "cumulative": "subgaussian"}
    given |= changes
    return handrail.guard(**{key: value for key, value in given.items() if value is not None})


def psi(count: int, share: float = DELTA) -> float:
    """The sub-Gaussian bound, sigma = 1/2; pi^2/18 is what its level adds up to over all counts."""
    level = share / (math.pi**2 / 18.0)
    return 0.5 * math.sqrt(2.0 * count * math.log(3.0 * max(count, 1) ** 2 / level))


# -- by hand -----------------------------------------------------------------------------------


def test_the_first_rounds() -> None:
    """mu_b (s + 1 - alpha t) is what the past has to make up for: it is all margin there is."""
    watch = make()
    events, margins = [], []
    for _ in range(6):
        decision = watch.decide(proposal="new")
        events.append(decision.action)
        margins.append(decision.margin)
        if decision.action == "new":
            assert watch.learn(decision, 1.0) == "learned"
        else:
            assert watch.learn(decision, 1.0) == "ignored"
    # s = 0: -0.5 (1 - 0.5) < 0, so the baseline, which makes it 0.25. Then 0.5 (0.5 * 2 - 1) = 0.
    # One reward does not exceed psi(1) = 1.18: the baseline every other round.
    assert events == ["old", "new", "old", "new", "old", "new"]
    assert margins == pytest.approx([0.25, 0.0, 0.25, 0.0, 0.25, 0.0])


def test_rewards_beyond_psi_pay_for_more() -> None:
    watch = make()
    for _ in range(40):
        decision = watch.decide(proposal="new")
        if decision.action == "new":
            watch.learn(decision, 1.0)
    plays = 0
    for number in range(40):  # the same by hand
        past = max(plays - psi(plays), 0.0)
        if past + 0.5 * (ALPHA * (number + 1) - plays - 1) >= 0.0:
            plays += 1
    assert watch._state.model.ledger["plays"][0] == plays
    assert plays > 20  # every other round would be 20


def test_a_proposal_that_is_the_baseline_is_the_baseline() -> None:
    watch = make()
    for _ in range(3):
        decision = watch.decide(proposal="old")
        assert (decision.action, decision.event) == ("old", "baseline")
        assert not decision.awaits_reward
    assert decision.reason == "Action old, the proposal, is the baseline itself."
    # Three rounds were saved up: 0.5 (0.5 * 4 - 1) = 0.5.
    assert watch.explain(proposal="new").margin == pytest.approx(0.5)
    assert watch.explain(proposal="new").action == "new"


def test_what_it_says() -> None:
    watch = make()
    first, second = watch.decide(proposal="new"), watch.decide(proposal=7)
    assert first.reason == (
        "Action old, the baseline, is played to stay safe: action new, the proposal, might earn "
        "nothing, and the certified margin is -0.25."
    )
    assert second.action == 7
    assert "is safe even if it earns nothing: the certified margin is 0" in second.reason
    assert first.explanation["most_optimistic"]["action"] == "new"
    assert watch.failure_probability == pytest.approx(DELTA)


def test_late_rewards_count_nothing_until_they_come() -> None:
    watch = make(baseline_mean=0.1)
    waiting = []
    for _ in range(60):
        decision = watch.decide(proposal="new")
        if decision.action == "new":
            waiting.append(decision)
    # No reward came: all that is there is alpha of what the baseline would have earned.
    assert len(waiting) == 30
    assert watch.pending == 30
    before = watch.explain(proposal="new").explanation["most_optimistic"]["margin"]
    for decision in reversed(waiting):
        watch.learn(decision, 0.8)
    after = watch.explain(proposal="new").margin
    assert before == pytest.approx(0.1 * (ALPHA * 61 - 31))
    assert after == pytest.approx(30 * 0.8 - psi(30) + 0.1 * (ALPHA * 61 - 31))


def test_a_window_takes_rewards_in_order_and_missing_ones_at_their_default() -> None:
    watch = make(window=2, default_reward=0.0, baseline_mean=0.1)
    first = watch.decide(proposal="new")
    second = watch.decide(proposal="new")
    assert (first.action, second.action) == ("old", "new")
    assert watch.learn(second, 1.0) == "waiting"
    third, fourth = watch.decide(proposal="new"), watch.decide(proposal="new")
    ledger = watch._state.model.ledger
    assert (third.action, fourth.action) == ("old", "new")
    assert (ledger["rewards"][0], ledger["reward"][0]) == (1, 1.0)  # round 2 closed at round 4
    watch.decide(proposal="new")
    watch.decide(proposal="new")
    assert (ledger["rewards"][0], ledger["reward"][0]) == (2, 1.0)  # round 4 closed, unrewarded


# -- against a transcription -------------------------------------------------------------------


class Book:
    """Every round as it was, and the margin of a proposal from it, term by term."""

    def __init__(self) -> None:
        self.rounds: list[tuple[bool, float, float]] = []
        """Whether the proposal was played, and the two ends of the baseline's mean."""
        self.earned: list[float] = []

    def margin(self, low: float, high: float, slack: float = 0.0) -> float:
        saved = sum(lo for played, lo, _ in self.rounds if not played)
        past = max(sum(self.earned) - psi(len(self.earned)), 0.0)
        # Of a round of S_b, alpha of the mean is left: saved and asked for at the same end.
        asked = sum(hi if played else lo for played, lo, hi in self.rounds) + high
        return saved + past + slack - (1.0 - ALPHA) * asked


@pytest.mark.parametrize("kind", ["constant", "varying", "interval", "varying interval"])
@pytest.mark.parametrize("every", [None, 7])
def test_margins(kind: str, every: int | None) -> None:
    rng = np.random.default_rng(5)
    lower = 0.2
    scheduled = {} if every is None else {"checkpoint_every": every, "baseline_lower": lower}
    given = {"constant": 0.5, "interval": (0.4, 0.6)}.get(kind)
    watch = make(baseline_mean=given, **scheduled)
    book = Book()
    played = 0
    for number in range(1, 301):
        low = high = 0.5
        told: dict[str, Any] = {}
        if kind == "interval":
            low, high = 0.4, 0.6
        elif kind.startswith("varying"):
            low = high = float(rng.uniform(lower, 1.0))
            if kind == "varying interval":
                high = float(rng.uniform(low, 1.0))
            told["baseline_mean"] = (low, high)
        slack = 0.0 if every is None else ALPHA * lower * (-number % every)
        expected = book.margin(low, high, slack)
        decision = watch.decide(proposal="new", **told)
        assert decision.explanation["most_optimistic"]["margin"] == pytest.approx(expected)
        new = decision.action == "new"
        assert new == (expected >= 0.0) or abs(expected) < 1e-12
        book.rounds.append((new, low, high))
        if new:
            played += 1
            reward = float(rng.random() < 0.7)
            book.earned.append(reward)
            watch.learn(decision, reward)
    assert 20 < played < 300


@pytest.mark.parametrize("every", [None, 7])
def test_margins_with_a_learned_mean(every: int | None) -> None:
    """One constant mean, at whichever end hurts; two events share delta."""
    rng = np.random.default_rng(6)
    scheduled = {} if every is None else {"checkpoint_every": every}
    watch = make(baseline_mean="learned", **scheduled)
    assert watch.algorithm.name == ("GUARD" if every is None else "GUARD-T")
    earned: list[float] = []
    seen: list[float] = []
    for number in range(1, 301):
        low, high = (0.0, 1.0) if not seen else kl_interval(len(seen), sum(seen), DELTA / 2)
        until = number if every is None else -(-number // every) * every
        net = ALPHA * until - len(earned) - 1
        past = max(sum(earned) - psi(len(earned), DELTA / 2), 0.0)
        expected = past + min(low * net, high * net)
        decision = watch.decide(proposal="new")
        assert decision.explanation["most_optimistic"]["margin"] == pytest.approx(expected)
        reward = float(rng.random() < 0.6)
        (earned if decision.action == "new" else seen).append(reward)
        assert watch.learn(decision, reward) == "learned"
    assert len(earned) > 100
    assert len(seen) > 10


def test_a_list_of_checkpoints() -> None:
    """alpha mu_l (c - t) until the next one; after the last the promise holds every round."""
    watch = make(checkpoints=[4, 10])
    margins = []
    for _ in range(12):
        decision = watch.decide(proposal="new")
        margins.append(decision.explanation["most_optimistic"]["margin"])
    # One constant mean: 0.5 (alpha c - s - 1), s growing with every proposal that is played.
    assert margins[:4] == pytest.approx([0.5, 0.0, -0.5, -0.5])  # c = 4: two are played
    assert margins[4:10] == pytest.approx([1.0, 0.5, 0.0, -0.5, -0.5, -0.5])  # c = 10: five
    assert margins[10:] == pytest.approx([-0.25, 0.0])


# -- what it is made from ----------------------------------------------------------------------


def test_guard_is_make_policy() -> None:
    same: dict[str, Any] = {"baseline": "old", "baseline_mean": 0.5, "alpha": 0.1, "delta": 0.05}
    same |= {"reward_range": (0.0, 2.0)}
    for name, more in (
        ("GUARD", {}),
        ("GUARD-T", {"checkpoint_every": 9}),
        ("GUARD-T", {"checkpoints": [5, 50]}),
        ("GUARD-T", {"checkpoint_gap": 4}),
    ):
        one, other = handrail.guard(**same, **more), handrail.make_policy(name, **same, **more)
        assert one.algorithm == other.algorithm
        assert dict(one.parameters) == dict(other.parameters)
        for _ in range(50):
            first, second = one.decide(proposal=1), other.decide(proposal=1)
            assert (first.action, first.margin) == (second.action, second.margin)
            one.learn(first, 1.5)
            other.learn(second, 1.5)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"alpha": None}, "alpha"),
        ({"delta": None}, "delta"),
        ({"delta": 1.5}, "delta"),
        ({"baseline": 0.5}, "baseline"),
        ({"baseline_mean": 2.0}, "baseline_mean"),
        ({"baseline_mean": "known"}, "baseline_mean"),
        ({"reward_range": None, "cumulative": None}, "noise"),
        ({"baseline_lower": 0.1}, "baseline_lower"),
        ({"width": "kl"}, "width"),
        ({"baseline_mean": "learned", "width": "wu"}, "width"),
        ({"checkpoint_every": 5, "checkpoints": [3]}, "checkpoints"),
        ({"cumulative": "bernstein", "reward_range": None, "noise": 1.0}, "cumulative"),
    ],
)
def test_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        make(**changes)
    assert caught.value.field == field


def test_other_units() -> None:
    """Rewards in [-10, 10]: the promise is on reward above -10, margins in the user's units."""
    plain, scaled = make(), make(reward_range=(-10.0, 10.0), baseline_mean=0.0)
    for number in range(80):
        one, other = plain.decide(proposal="new"), scaled.decide(proposal="new")
        assert one.action == other.action
        assert other.margin == pytest.approx(20.0 * (one.margin or 0.0), abs=1e-9)
        reward = float(number % 3 > 0)
        plain.learn(one, reward)
        scaled.learn(other, 20.0 * reward - 10.0)
    assert "the promise is on reward above -10" in other.reason


@pytest.mark.parametrize("more", [{}, {"baseline_mean": "learned"}, {"checkpoint_every": 6}])
def test_saved_in_the_middle_it_goes_on(tmp_path: Path, more: dict[str, Any]) -> None:
    rng = np.random.default_rng(8)
    watch = make(**more)
    waiting = []
    for number in range(60):
        decision = watch.decide(proposal=("new", "old", 3)[number % 3])
        waiting.append(decision)
        if number % 2:
            watch.learn(waiting.pop(0), float(rng.random()))
    watch.save(tmp_path / "guard")
    again = handrail.load_policy(tmp_path / "guard")
    assert again.pending == watch.pending
    for decision in waiting:
        reward = float(rng.random())
        assert watch.learn(decision, reward) == again.learn(decision.id, reward)
    for _ in range(30):
        one, other = watch.decide(proposal="new"), again.decide(proposal="new")
        assert (one.action, one.margin, one.reason) == (other.action, other.margin, other.reason)
        reward = float(rng.random())
        watch.learn(one, reward)
        again.learn(other, reward)


def test_parts_by_hand_need_no_preset() -> None:
    """A row of one's own: widths and bounds have defaults."""
    row = handrail.Algorithm("mine", "none", "martingale", "proposal", "every-round")
    told: dict[str, Any] = {"alpha": 0.5, "delta": 0.1, "reward_range": (0, 1), "baseline": 0}
    for mean in (0.5, "learned"):
        policy = handrail.make_policy(row, baseline_mean=mean, **told)
        assert policy.decide(proposal=1).action == 0


@pytest.mark.parametrize("told", [0.6, (0.5, 0.6), "learned", None])
def test_a_mean_without_a_name_says_whose_it_is_believed_to_be(told: Any) -> None:
    """With a name, another baseline needs its own mean; without one, all have the agreed one."""
    unnamed = make(baseline=None, baseline_mean=told)
    assert (UNNAMED in unnamed.notes) is (told is not None)
    assert UNNAMED not in make(baseline_mean=told).notes


@pytest.mark.parametrize("told", [0.6, (0.5, 0.6), "learned", None])
def test_one_mean_for_all_says_that_it_rests_on_whom_the_baseline_is_proposed_for(
    told: Any,
) -> None:
    assert (FOR_WHOM in make(baseline_mean=told).notes) is (told is not None)


@pytest.mark.parametrize("field", ["reward_range", "mean_range"])
def test_ranges_that_are_too_short_are_refused_as_by_make_policy(field: str) -> None:
    """Rewards of 1e17 + 9 and 1e17 + 16 are the same number."""
    low = 1e17
    told = {"reward_range": None, "noise": 8.0, "baseline_mean": low + 16.0, "cumulative": None}
    with pytest.raises(InputError, match="too short for where it lies") as caught:
        make(**{**told, field: (low, low + 16.0)})
    assert caught.value.field == field


def test_another_baseline_needs_its_own_mean() -> None:
    told: dict[str, Any] = {"alpha": 0.2, "delta": 0.1, "reward_range": (0, 1)}
    known = handrail.guard(baseline="a", baseline_mean=0.5, **told)
    with pytest.raises(InputError) as caught:
        known.decide(proposal="b", baseline="c")
    assert caught.value.field == "baseline_mean"
    assert known.decide(proposal="b", baseline="c", baseline_mean=0.7).round == 1
    learned = handrail.guard(baseline="a", baseline_mean="learned", **told)
    with pytest.raises(InputError) as caught:
        learned.decide(proposal="b", baseline="c")
    assert caught.value.field == "baseline"
