"""The linear algorithms' shortcuts against the plain path, at their edges.

The fast engine is exact in real arithmetic and rounds differently: every run is followed
(`simulation.follow`), and where it plays something else the compared values must lie within 1e-12.
Each test says how many such ties it allows: none, where features and rewards are generic. Nothing
here is random from run to run, so the probability of a false alarm is 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handrail
from handrail.environments.problem import FixedProblem
from handrail.records import Ints
from handrail.simulation import entry as entries
from oracle.catalogue import LINEAR, Parts
from simulation.engines import arms, enter, featured, generic, play, same
from simulation.follow import follow

BY_HAND = [
    Parts("linear", past, selection, schedule)
    for past in ["self-normalised", "martingale", "oracle"]
    for selection in ["two-step", "largest-lower", "largest-lower-literal", "constrained"]
    for schedule in ["every-round", "checkpoints"]
]
CHECKED = [parts for parts in BY_HAND if parts.schedule == "checkpoints"]
ORACLES = [parts for parts in BY_HAND if parts.past == "oracle"]
REWARDS = ["bernoulli", "gaussian"]


def longest(actions: Ints, arm: int | None = None) -> int:
    """Rounds in the longest streak of one arm, or of any."""
    edges = np.flatnonzero(np.diff(actions, prepend=-1, append=-1))
    return max(
        (int(b - a) for a, b in pairwise(edges) if arm in (None, actions[a])),
        default=0,
    )


@pytest.mark.parametrize("name", LINEAR)
def test_following_the_plain_path_finds_no_difference(name: str) -> None:
    """What follows runs here is itself held against the plain engine: to the last bit."""
    for problem in (generic(12, 5, 0), arms([0.5, 0.7, 0.5, 0.2], 0)):
        plain = enter(problem, name, 1500, "plain", alpha=0.05, checkpoint_every=7)
        assert plain.kind == "fixed-plain"
        curve, meter, actions = plain.play(0, trace=True)
        found = follow(plain, 0, actions)
        assert (found.differs, found.ties) == (0, 0)
        assert found.curve.tobytes() == curve.tobytes()
        assert found.meter.tobytes() == meter.tobytes()
        # And it does notice: one action changed is a difference or, rarely, a tie.
        wrong = actions.copy()
        wrong[700] = (wrong[700] + 1) % len(problem.means)
        assert follow(plain, 0, wrong).differs == 701


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 30, 40])
def test_any_number_of_arms(count: int, rewards: str) -> None:
    """Vectors are padded to multiples of eight, and at most eight arms take turns."""
    for dim in (1, 3, 20, 50):
        problem = generic(count, dim, 1, rewards=rewards)
        for name in LINEAR:
            same(problem, name, 800, alpha=0.1, checkpoint_every=9)


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("name", LINEAR)
def test_more_arms_take_turns_than_have_room(name: str, rewards: str) -> None:
    """Twenty arms that are worth the same: nobody stays ahead, and the contest is full."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(20, 12))
    rows[:, 0] = 0.5
    problem = featured(rows, np.eye(12)[0], 3, rewards=rewards)
    actions = same(problem, name, 3000, alpha=0.5, checkpoint_every=50)
    assert len(set(actions[-500:].tolist())) > 8


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("name", LINEAR)
def test_an_arm_with_zero_features(name: str, rewards: str) -> None:
    """Its bounds are 0 for good; as the baseline it is worth nothing."""
    problem = generic(9, 4, 2, rewards=rewards)
    assert problem.features is not None
    for zero in (0, problem.baseline, 8):
        rows, means = problem.features.copy(), problem.means.copy()
        rows[zero], means[zero] = 0.0, 0.0
        same(_with(problem, rows, means), name, 800, checkpoint_every=9)
    rows, means = np.zeros((9, 4)), np.zeros(9)
    rows[4], means[4] = [0.5, 0.1, 0.0, 0.2], 0.4
    for baseline in (0, 4, 8):
        # Arms with zero features tie, with values that are exactly 0: no tie goes another way.
        same(_with(problem, rows, means, baseline=baseline), name, 300, checkpoint_every=9)


def _with(problem: FixedProblem, rows: Any, means: Any, **more: Any) -> FixedProblem:
    """The same with other features and means."""
    facts: dict[str, Any] = {
        "baseline": problem.baseline,
        "rewards": problem.rewards,
        "noise": problem.noise,
        "theta_bound": problem.theta_bound,
    }
    return FixedProblem(means=np.array(means), features=np.array(rows), **{**facts, **more})


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("name", LINEAR)
def test_a_streak_ended_by_a_tie(name: str, rewards: str) -> None:
    """Arms with the same features have the same bounds for ever: any of them may be played."""
    problem = generic(10, 4, 3, rewards=rewards)
    assert problem.features is not None
    rows, means = problem.features.copy(), problem.means.copy()
    best = int(np.argmax(means))
    twins = [best, (best + 3) % 10, (best + 7) % 10]
    rows[twins], means[twins] = rows[best], means[best]
    baseline = next(arm for arm in range(10) if arm not in twins)
    problem = _with(problem, rows, means, baseline=baseline)
    # Of twins either engine may play any: the whole run can be ties, all of them real.
    actions = same(problem, name, 2000, ties=2000, alpha=0.5, checkpoint_every=9)
    assert np.isin(actions, twins).sum() > 200


@pytest.mark.parametrize("name", LINEAR)
def test_nearly_collinear_arms(name: str) -> None:
    """Directions that differ by 1e-3, and by 1e-6, in ten dimensions."""
    rng = np.random.default_rng(7)
    for apart in (1e-3, 1e-6):
        rows = 0.5 * np.eye(10)[0] + apart * rng.normal(size=(12, 10))
        problem = featured(rows, np.eye(10)[0], 4)
        for rewards in REWARDS:
            close = _with(problem, rows, problem.means, rewards=rewards)
            same(close, name, 1500, alpha=0.5, ties=5, checkpoint_every=9)


@pytest.mark.parametrize("noise", [1e-4, 0.1, 5.0])
@pytest.mark.parametrize("ridge", [0.01, 1.0, 1e4])
def test_ridge_and_noise(ridge: float, noise: float) -> None:
    for rewards in REWARDS:
        problem = generic(12, 6, 4, rewards=rewards, noise=noise)
        for name in LINEAR:
            same(problem, name, 800, ridge=ridge, alpha=0.1, checkpoint_every=9)


def test_a_small_ridge() -> None:
    """G falls by many orders of magnitude, and engines round on the way: ties are within 1e-10."""
    for rewards in REWARDS:
        for seed in range(4):
            problem = generic(12, 6, seed, rewards=rewards)
            for name in LINEAR:
                same(problem, name, 800, ridge=1e-4, alpha=0.1, checkpoint_every=9, tie=1e-10)


@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("width", ["paper", "determinant"])
@pytest.mark.parametrize("parts", BY_HAND, ids="/".join)
def test_parts_by_hand(parts: Parts, width: str, clip: str) -> None:
    mine = handrail.Algorithm("mine", *parts)
    for rewards in REWARDS:
        for count, dim, alpha in [(3, 2, 0.3), (11, 4, 0.02), (30, 40, 0.1)]:
            problem = generic(count, dim, 5, rewards=rewards)
            chosen: dict[str, Any] = {"width": width, "clip": clip, "checkpoint_every": 13}
            same(problem, mine, 600, alpha=alpha, points=37, **chosen)


@pytest.mark.parametrize("every", [1, 2, 24, 25, 26, 99, 100, 101, 10**6])
@pytest.mark.parametrize("parts", CHECKED, ids="/".join)
def test_a_baseline_streak_around_a_checkpoint(parts: Parts, every: int) -> None:
    """T = 1, around the length of the streak, around the horizon, beyond it."""
    mine = handrail.Algorithm("mine", *parts)
    problem = generic(6, 3, 6)
    for lower in (None, 0.0, 0.1):
        told: dict[str, Any] = {} if lower is None else {"baseline_lower": lower}
        for rounds in (100, 601):
            same(problem, mine, rounds, alpha=0.05, checkpoint_every=every, **told)


@pytest.mark.parametrize("off", [-1, 0, 1])
@pytest.mark.parametrize("parts", CHECKED, ids="/".join)
def test_a_baseline_jump_that_lands_on_a_checkpoint(parts: Parts, off: int) -> None:
    """T set to where the first baseline streak ends without checkpoints, one less, one more."""
    mine = handrail.Algorithm("mine", *parts)
    # The best arm is the baseline: nothing else earns what it gives up.
    rows = np.random.default_rng(6).normal(size=(6, 4))
    rows[:, 0] = [0.8, *np.random.default_rng(15).uniform(0.1, 0.6, 5)]
    problem = featured(rows, np.eye(4)[0], 0)
    _, _, actions = play(problem, mine, 3000, "fast", alpha=0.02, checkpoint_every=1)
    held = actions == problem.baseline
    begins = int(np.argmax(held))
    length = int(np.argmax(~held[begins:]))
    assert held.any()
    assert length >= 2
    for end in (begins + length, begins + 1, begins + length - 1):
        same(problem, mine, 3000, alpha=0.02, checkpoint_every=max(1, end + off))


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("parts", ORACLES, ids="/".join)
def test_a_margin_of_exactly_zero(parts: Parts, rewards: str) -> None:
    """All numbers are binary fractions: need and past are exact, and equal again and again.

    With alpha = 1/4 and mu_b = 1/2 an arm that is worth 1/4 costs 1/8 a round, which one baseline
    round pays for exactly.
    """
    mine = handrail.Algorithm("mine", *parts)
    rng = np.random.default_rng(8)
    for worth in (0.0, 0.125, 0.25):
        rows = rng.integers(-4, 5, size=(6, 5)) / 4.0
        rows[:, 0] = [0.5, worth, 0.25, worth, 0.375, 0.25]
        problem = featured(rows, np.eye(5)[0], 0, rewards=rewards, noise=1.0)
        actions = same(problem, mine, 1500, alpha=0.25, checkpoint_every=8)
        steps = problem.means[actions] - 0.75 * 0.5
        budget = np.cumsum(steps)  # exact
        assert (budget == 0.0).sum() >= 2


@pytest.mark.parametrize("name", LINEAR)
def test_the_horizon_inside_a_streak(name: str) -> None:
    """At every position: whatever the horizon, a run begins like a longer one."""
    problem = generic(5, 3, 9)
    chosen: dict[str, Any] = {"alpha": 0.05, "checkpoint_every": 8}
    _, _, whole = play(problem, name, 2000, "fast", **chosen)
    assert longest(whole) >= 15
    for rounds in range(1, 61):
        same(problem, name, rounds, points=3, **chosen)
    edges = np.flatnonzero(np.diff(whole, prepend=-1, append=-1))
    start = int(edges[np.argmax(np.diff(edges))])
    for rounds in range(max(start - 1, 1), min(start + 18, 2000)):
        _, _, part = play(problem, name, rounds, "fast", points=1, **chosen)
        np.testing.assert_array_equal(part, whole[:rounds])


@pytest.mark.parametrize("name", LINEAR)
def test_recorded_rounds_inside_streaks(name: str) -> None:
    """Streaks go on through recorded rounds: whatever these are, the actions are the same."""
    problem = generic(7, 3, 10)
    traces = set()
    for points in (1, 2, 3, 7, 50, 499, 500):
        actions = same(problem, name, 2500, points=points, alpha=0.05, checkpoint_every=8)
        traces.add(actions.tobytes())
    assert len(traces) == 1


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("name", LINEAR)
def test_long_runs(name: str, rewards: str) -> None:
    """Streaks are long, and bases are renewed many times."""
    problem = generic(12, 6, 11, rewards=rewards)
    chosen: dict[str, Any] = {"alpha": 0.05, "checkpoint_every": 100, "points": 20}
    actions = same(problem, name, 40_000, **chosen)
    best = int(np.argmax(problem.means))
    assert longest(actions, best) >= 30
    if handrail.algorithm(name).conservative:
        assert longest(actions, problem.baseline) >= 10


@pytest.mark.parametrize("name", ["LinUCB", "CLUCB", "CLUCB2", "CLUCB-Or"])
def test_over_two_rebuilds(name: str) -> None:
    """Every 2^16 rewards everything is computed afresh, in the same rounds by both engines."""
    problem = generic(4, 3, 12)
    for width in ("paper", "determinant"):
        actions = same(problem, name, 150_000, alpha=0.3, points=3, width=width)
        learned = len(actions) if name == "LinUCB" else (actions != problem.baseline).sum()
        assert learned > 2 * 2**16


def test_beyond_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Radii and boundaries that are not tabulated are computed: the same actions, to the end."""
    problem = generic(7, 3, 13)
    chosen: dict[str, Any] = {"alpha": 0.05, "checkpoint_every": 20}
    whole = {name: play(problem, name, 1500, "fast", **chosen)[2] for name in LINEAR}
    monkeypatch.setattr(entries, "_LONGEST_TABLE", 50)
    entries._radii.cache_clear()
    for name in LINEAR:
        actions = same(problem, name, 1500, **chosen)
        np.testing.assert_array_equal(actions, whole[name])
    entries._radii.cache_clear()


@settings(max_examples=250)
@given(
    name=st.sampled_from(LINEAR) | st.sampled_from(BY_HAND),
    count=st.integers(1, 20),
    dim=st.integers(1, 12),
    copies=st.lists(st.integers(0, 19), max_size=4),
    zeros=st.lists(st.integers(0, 19), max_size=3),
    rounds=st.integers(1, 600),
    points=st.integers(1, 30),
    seed=st.integers(0, 2**32 - 1),
    alpha=st.sampled_from([0.01, 0.25, 0.5, 0.9]),
    every=st.integers(1, 50),
    ridge=st.sampled_from([0.1, 1.0, 100.0]),
    noise=st.sampled_from([0.01, 0.5, 3.0]),
    rewards=st.sampled_from(REWARDS),
    width=st.sampled_from(["paper", "determinant"]),
)
def test_anything(
    name: str | Parts,
    count: int,
    dim: int,
    copies: list[int],
    zeros: list[int],
    rounds: int,
    points: int,
    seed: int,
    alpha: float,
    every: int,
    ridge: float,
    noise: float,
    rewards: str,
    width: str,
) -> None:
    """Features at random, some of them zero or those of the first arm: only these may tie."""
    dim += dim == 1 and width == "paper"  # which is no width there
    problem = generic(count, dim, seed, rewards=rewards, noise=noise)
    assert problem.features is not None
    rows, means = problem.features.copy(), problem.means.copy()
    for copy in copies:
        rows[copy % count], means[copy % count] = rows[0], means[0]
    for zero in zeros:
        rows[zero % count], means[zero % count] = 0.0, 0.0
    problem = _with(problem, rows, means, baseline=(problem.baseline + seed) % count)
    algorithm = name if isinstance(name, str) else handrail.Algorithm("mine", *name)
    chosen: dict[str, Any] = {"points": points, "seed": seed, "alpha": alpha, "width": width}
    ties = rounds if copies else 0
    same(problem, algorithm, rounds, ties=ties, checkpoint_every=every, ridge=ridge, **chosen)


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("parts", ORACLES, ids="/".join)
def test_what_was_earned_does_not_drift(parts: Parts, rewards: str) -> None:
    """Sums over thousands of streaks: budgets are those of counts times means to a few bits."""
    mine = handrail.Algorithm("mine", *parts)
    problem = generic(8, 20, 3, rewards=rewards, noise=10.0)
    baseline = int(np.argsort(problem.means)[-2])
    problem = _with(problem, problem.features, problem.means, baseline=baseline)
    chosen: dict[str, Any] = {"alpha": 0.01, "noise": 1.0, "width": "determinant", "points": 1}
    entry = enter(problem, mine, 40_000, "fast", checkpoint_every=1, **chosen)
    _, meter, actions = entry.play(0, trace=True)
    found = follow(entry, 0, actions)
    assert (found.differs, found.ties) == (0, 0)
    assert meter["smallest"][0] == pytest.approx(found.meter["smallest"][0], rel=0.0, abs=3e-11)
