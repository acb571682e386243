"""Shortcuts change nothing: the fast engine against the plain one, round for round.

Actions and curves of multi-armed algorithms must be equal to the last bit; linear ones are
followed, and may play another arm where values lie within 1e-12 (`simulation.engines.same`).
Problems are made to hit the edges: ties, one arm, a baseline that is best, worst or worth nothing,
horizons and checkpoints in odd places. Nothing here is random from run to run: the probability of
a false alarm is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handrail
from handrail.simulation import entry as entries
from oracle.catalogue import CATALOGUE, LINEAR, MEANS, Parts
from simulation.engines import arms, play, same

MARTINGALE = [name for name in MEANS if CATALOGUE[name].past == "martingale"]
CHECKED = [name for name, parts in CATALOGUE.items() if parts.schedule == "checkpoints"]
BY_HAND = [
    Parts(estimator, past, selection, schedule)
    for estimator, pasts in [
        ("means", ["arm-sums", "martingale", "oracle"]),
        ("linear", ["self-normalised", "martingale", "oracle"]),
    ]
    for past in pasts
    for selection in ["two-step", "largest-lower", "largest-lower-literal", "constrained"]
    for schedule in ["every-round", "checkpoints"]
]
PROBLEMS = {
    "one arm": ([0.4], 0),
    "two arms": ([0.7, 0.5], 1),
    "two arms, the baseline first": ([0.5, 0.7], 0),
    "all equal": ([0.5, 0.5, 0.5, 0.5], 2),
    "all zero": ([0.0, 0.0, 0.0], 1),
    "all one": ([1.0, 1.0, 1.0], 0),
    "zeros and ones": ([0.0, 1.0, 0.0, 1.0], 1),
    "baseline best": ([0.3, 0.9, 0.5], 1),
    "baseline worst": ([0.3, 0.1, 0.5], 1),
    "baseline worth nothing": ([0.3, 0.0, 0.5], 1),
    "baseline worth nothing like the others": ([0.0, 0.0, 0.5], 2),
    "ties beside the baseline": ([0.5, 0.75, 0.5, 0.75, 0.25], 4),
    "many": (list(np.linspace(0.2, 0.8, 12)), 5),
}


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_edges(kind: str, name: str) -> None:
    """Bernoulli and Gaussian rewards; horizons from 1 up, at odd numbers of recorded rounds."""
    means, baseline = PROBLEMS[kind]
    for rewards, noise in [("bernoulli", 0.5), ("gaussian", 0.1), ("gaussian", 1.0)]:
        problem = arms(means, baseline, rewards=rewards, noise=noise)
        for run, (rounds, points) in enumerate([(1, 1), (2, 500), (37, 3), (300, 500), (1000, 1)]):
            # Of arms with as many plays and successes linear algorithms may play any; what an
            # oracle knows are short decimals, whose margins meet 0 up to rounding.
            ties = rounds if rewards == "bernoulli" else 20 * (name == "CLUCB-Or")
            same(problem, name, rounds, points=points, run=run, ties=ties, checkpoint_every=7)


def test_a_baseline_worth_nothing_asks_for_nothing() -> None:
    """alpha mu_b = 0: every action is safe where the past is cut at 0, and no loop is endless."""
    for name in MEANS:
        actions = same(arms([0.3, 0.0, 0.5], 1), name, 200, checkpoint_every=7)
        if CATALOGUE[name].past != "none":
            assert not (actions == 1).any()
    # Not cut, the past's bound starts below 0 and nothing ever lifts it.
    actions = same(arms([0.3, 0.0, 0.5], 1), "CUCB2", 200, clip="none")
    assert (actions == 1).all()


def test_a_single_arm_is_all_there_is() -> None:
    for name in CATALOGUE:
        assert not same(arms([0.4], 0), name, 50, checkpoint_every=7).any()


@pytest.mark.parametrize("every", [1, 2, 3, 10, 99, 100, 101, 10**6])
@pytest.mark.parametrize("name", CHECKED)
def test_checkpoints(name: str, every: int) -> None:
    """T = 1, a divisor of n, none, n itself, more than n."""
    for run, lower in enumerate([None, 0.0, 0.2]):
        given_lower = {} if lower is None else {"baseline_lower": lower}
        for problem in (arms([0.2, 0.45, 0.6], 1), arms([0.4, 0.7, 0.7, 0.3], 0)):
            chosen: dict[str, Any] = {"checkpoint_every": every, "run": run, **given_lower}
            same(problem, name, 100, ties=20, **chosen)
            same(problem, name, 601, ties=20, alpha=0.05, **chosen)


@pytest.mark.parametrize("accounting", ["paper", "union"])
@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("width", ["wu", "ucb1", "mixture"])
def test_options_of_means(width: str, clip: str, accounting: str) -> None:
    chosen: dict[str, Any] = {
        "width": width,
        "clip": clip,
        "accounting": accounting,
        "checkpoint_every": 20,
    }
    problem = arms([0.2, 0.45, 0.6, 0.55], 1)
    for name in MEANS:
        for cumulative in ["paper", "subgaussian", "mixture"] if name in MARTINGALE else ["paper"]:
            same(problem, name, 400, cumulative=cumulative, **chosen)


@pytest.mark.parametrize("accounting", ["paper", "union"])
@pytest.mark.parametrize("clip", ["zero", "none"])
@pytest.mark.parametrize("width", ["paper", "determinant"])
def test_options_of_ellipsoids(width: str, clip: str, accounting: str) -> None:
    chosen: dict[str, Any] = {
        "width": width,
        "clip": clip,
        "accounting": accounting,
        "checkpoint_every": 20,
    }
    problem = arms([0.2, 0.45, 0.6, 0.55], 1, noise=0.1, rewards="gaussian")
    for name in LINEAR:
        for cumulative in ["paper", "mixture"]:
            same(problem, name, 400, cumulative=cumulative, **chosen)


@pytest.mark.parametrize("parts", BY_HAND, ids="/".join)
def test_parts_by_hand(parts: Parts) -> None:
    mine = handrail.Algorithm("mine", *parts)
    for run, (kind, rounds) in enumerate(
        [("many", 500), ("two arms", 300), ("baseline best", 300)]
    ):
        means, baseline = PROBLEMS[kind]
        chosen: dict[str, Any] = {"run": run, "checkpoint_every": 13, "ties": 50}
        same(arms(means, baseline), mine, rounds, **chosen)
        same(arms(means, baseline), mine, rounds, clip="none", **chosen)


@pytest.mark.parametrize("parts", BY_HAND, ids="/".join)
def test_an_action_worth_waiting_for(parts: Parts) -> None:
    """A good arm, a poor baseline, many arms that are worth nothing and not known yet.

    Told too little noise, the good arm's lower bound jumps, but stays above the baseline's mean:
    it ends baseline rounds long before the most optimistic arm, which is unknown, would.
    """
    mine = handrail.Algorithm("mine", *parts)
    problem = arms([0.5, 0.05, *[0.0] * 40], 1)
    for run in range(15):
        chosen: dict[str, Any] = {"alpha": 0.05, "ridge": 0.01, "checkpoint_every": 13, "ties": 50}
        same(problem, mine, 300, run=run, noise=0.1, **chosen)
        same(problem, mine, 300, run=run, noise=0.05, **chosen)


@settings(max_examples=300)
@given(
    name=st.sampled_from(sorted(CATALOGUE)),
    means=st.lists(
        st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0.0, 1.0), min_size=1, max_size=6
    ),
    baseline=st.integers(0, 5),
    rounds=st.integers(1, 400),
    points=st.integers(1, 30),
    seed=st.integers(0, 2**63 - 1),
    alpha=st.sampled_from([0.01, 0.25, 0.5, 0.9]),
    every=st.integers(1, 50),
    noise=st.sampled_from([0.01, 0.5, 3.0]),
    rewards=st.sampled_from(["bernoulli", "gaussian"]),
)
def test_anything(
    name: str,
    means: list[float],
    baseline: int,
    rounds: int,
    points: int,
    seed: int,
    alpha: float,
    every: int,
    noise: float,
    rewards: str,
) -> None:
    problem = arms(means, baseline % len(means), rewards=rewards, noise=noise)
    chosen: dict[str, Any] = {"points": points, "seed": seed, "alpha": alpha}
    ties = rounds if rewards == "bernoulli" else 0
    same(problem, name, rounds, ties=ties, checkpoint_every=every, **chosen)


@pytest.mark.parametrize("alpha", [0.01, 0.5])
@pytest.mark.parametrize("width", ["wu", "ucb1", "mixture"])
@pytest.mark.parametrize("name", MEANS)
def test_long_runs(name: str, width: str, alpha: float) -> None:
    """Where streaks are long, sums large, and most rounds are leapt over."""
    problem = arms([0.5, 0.52, 0.31, 0.49, 0.6], 3)
    chosen: dict[str, Any] = {"delta": 0.01, "checkpoint_every": 1000, "points": 7}
    actions = same(problem, name, 100_000, alpha=alpha, width=width, **chosen)
    assert len(set(actions.tolist())) > 1
    edges = np.flatnonzero(np.diff(actions, prepend=-1, append=-1))
    assert np.diff(edges).max() >= 100


@pytest.mark.parametrize("delta", [0.2, 0.9, 0.999])
@pytest.mark.parametrize("name", MEANS)
def test_widths_that_do_not_fall_at_first(name: str, delta: float) -> None:
    """With few arms and delta near 1 widths grow over the first plays: leaps must wait."""
    for width in ("wu", "mixture"):
        for means, baseline in [([0.6], 0), ([0.5, 0.9], 0), ([0.9, 0.5], 1), ([0.02, 0.9], 0)]:
            for run in range(4):
                chosen: dict[str, Any] = {"delta": delta, "width": width, "checkpoint_every": 50}
                same(arms(means, baseline), name, 400, run=run, alpha=0.3, noise=0.5, **chosen)


@pytest.mark.parametrize("selection", ["two-step", "largest-lower", "constrained"])
def test_a_leap_across_a_checkpoint(selection: str) -> None:
    """An arm that earns more than a round costs but less than the slack it uses up.

    Before a checkpoint its margin falls, after it rises: sure of the end of a leap is not sure of
    what lies between.
    """
    mine = handrail.Algorithm("mine", "means", "oracle", selection, "checkpoints")
    for every in (100, 300, 1000):
        for run in range(6):
            for worth in (0.46, 0.48, 0.495):
                problem = arms([0.5, worth, 0.0, 0.1], 0)
                chosen: dict[str, Any] = {"alpha": 0.1, "points": 1, "delta": 0.5}
                same(problem, mine, 6000, run=run, checkpoint_every=every, noise=0.1, **chosen)


@pytest.mark.parametrize("name", MEANS)
def test_a_width_that_moves_at_random(name: str) -> None:
    """`ucb1` over random problems: bounds of arms that are not played move too."""
    rng = np.random.default_rng(16)
    for run in range(60):
        count = int(rng.integers(2, 7))
        means = rng.uniform(0.3, 1.0, count)
        alpha = float(rng.choice([0.02, 0.1, 0.3, 0.6]))
        problem = arms(means, int(rng.integers(count)))
        same(problem, name, 6000, run=run, points=1, alpha=alpha, width="ucb1", checkpoint_every=99)


@pytest.mark.parametrize("width", ["wu", "ucb1", "mixture"])
def test_beyond_the_tables(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths and boundaries that are not tabulated are computed."""
    monkeypatch.setattr(entries, "_LONGEST_TABLE", 40)
    entries._tables.cache_clear()
    problem = arms([0.5, 0.52, 0.31, 0.49, 0.6], 3)
    for name in MEANS:
        for rewards in ("bernoulli", "gaussian"):
            problem = arms([0.5, 0.52, 0.31, 0.49, 0.6], 3, rewards=rewards)
            same(problem, name, 5000, width=width, alpha=0.05, checkpoint_every=100)
    entries._tables.cache_clear()


@pytest.mark.parametrize("off", [-1, 0, 1])
@pytest.mark.parametrize("width", ["wu", "ucb1", "mixture"])
def test_a_baseline_jump_that_lands_on_a_checkpoint(width: str, off: int) -> None:
    """T set to where the first baseline streak ends without checkpoints, one less, one more."""
    problem = arms([0.8, 0.5, 0.3, 0.4], 0)
    for parts in BY_HAND:
        if parts.estimator != "means" or parts.schedule != "checkpoints":
            continue
        mine = handrail.Algorithm("mine", *parts)
        chosen: dict[str, Any] = {"alpha": 0.02, "width": width}
        _, _, actions = play(problem, mine, 2000, "fast", checkpoint_every=1, **chosen)
        held = actions == 0
        begins = int(np.argmax(held))
        length = int(np.argmax(~held[begins:]))
        assert length >= 2
        for end in (begins + 1, begins + length - 1, begins + length):
            same(problem, mine, 2000, checkpoint_every=max(1, end + off), **chosen)


@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
def test_a_margin_of_exactly_zero(rewards: str) -> None:
    """All numbers are binary fractions: need and past are exact, and equal again and again."""
    for parts in BY_HAND:
        if parts.past != "oracle" or parts.estimator != "means":
            continue
        mine = handrail.Algorithm("mine", *parts)
        for worth in (0.0, 0.125, 0.25):
            means = [0.5, worth, 0.25, worth, 0.375, 0.25]
            problem = arms(means, 0, rewards=rewards, noise=1.0)
            actions = same(problem, mine, 1500, alpha=0.25, checkpoint_every=8)
            budget = np.cumsum(problem.means[actions] - 0.75 * 0.5)  # exact
            assert (budget == 0.0).sum() >= 2


@pytest.mark.parametrize("name", MEANS)
def test_the_horizon_inside_a_streak(name: str) -> None:
    """At every position, with streaks that are leapt over and without."""
    for rewards in ("bernoulli", "gaussian"):
        problem = arms([0.45, 0.62, 0.31, 0.2], 0, rewards=rewards)
        for rounds in range(1, 61):
            same(problem, name, rounds, points=3, alpha=0.05, checkpoint_every=8)
        for rounds in range(3000, 3020):
            same(problem, name, rounds, points=1, alpha=0.05, checkpoint_every=8)


@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("name", CATALOGUE)
def test_recording_does_not_disturb(name: str, rewards: str) -> None:
    """Whichever rounds are recorded, the actions are the same; with 0 and 1 arms often tie."""
    problem = arms([0.45, 0.62, 0.31, 0.6], 0, rewards=rewards)
    traces, curves = [], []
    for points in (1, 2, 7, 50, 500):
        curve, meter, actions = play(problem, name, 777, "fast", points=points, checkpoint_every=8)
        traces.append(actions.tobytes())
        curves.append((curve[-1].tobytes(), int(meter["violations"][0])))
    assert len(set(traces)) == 1
    assert len(set(curves)) == 1


@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
def test_a_longer_horizon_begins_like_a_shorter_one(rewards: str) -> None:
    problem = arms([0.45, 0.62, 0.31, 0.6], 0, rewards=rewards)
    for name in CATALOGUE:
        _, _, whole = play(problem, name, 900, "fast", checkpoint_every=8)
        for rounds in (1, 10, 333, 899):
            _, _, part = play(problem, name, rounds, "fast", checkpoint_every=8)
            np.testing.assert_array_equal(part, whole[:rounds])
