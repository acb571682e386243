"""Schedules, comings and goings, guards and late rewards, on paper and put to the oracle."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats

from oracle.levels import events, levels
from oracle.schedule import Schedule, shortest
from oracle.small import arms, guard
from oracle.widths import mixture_rho

CLOSE = 1e-6


# ---------------------------------------------------------------- schedules


def test_known_list() -> None:
    """3, 4, 9, then every round."""
    schedule = Schedule(listed=[3, 4, 9])
    found = [schedule.checkpoint(time, [], 0.0) for time in range(1, 12)]
    assert found == [3, 3, 3, 4, 9, 9, 9, 9, 9, 10, 11]


def test_smallest_gap() -> None:
    """Gap 3 from round 0, then from the checkpoint reported at round 5: not before round 8."""
    schedule = Schedule(gap=3)
    assert [schedule.checkpoint(time, [], 0.0) for time in range(1, 6)] == [3, 3, 3, 4, 5]
    assert [schedule.checkpoint(time, [5], 0.0) for time in range(6, 11)] == [8, 8, 8, 9, 10]
    every = Schedule(gap=1)
    assert [every.checkpoint(time, [], 0.0) for time in range(1, 5)] == [1, 2, 3, 4]


def test_reported_checkpoint_in_the_margin() -> None:
    """mu_b = 1/2, alpha = 1/4: -(1/2) (1 - t/4) + (1/8) (c - t) = (c - 4)/8, c = 3, 3, 3, 4, 5."""
    oracle = arms(checkpoint_gap=3)
    assert [oracle.decide(force=1).margins[0] for _ in range(5)] == [
        -1 / 8,
        -1 / 8,
        -1 / 8,
        0,
        1 / 8,
    ]
    oracle.checkpoint()
    assert [oracle.decide(force=1).margins[0] for _ in range(4)] == [1 / 2, 1 / 2, 1 / 2, 5 / 8]


@pytest.mark.parametrize(
    ("law", "delta", "expected"),
    [
        (stats.randint(1, 11), 0.5, [4, 1, 1]),
        (stats.uniform(0, 10), 0.5, [3, 0, 0]),
        ([2, 2, 3, 8], 0.5, [2, 2, 2]),
        ([2, 2, 3, 8], 0.9, [3, 2, 2]),
        (stats.poisson(4, loc=1), 0.5, [4, 2, 2]),
        (stats.randint(5, 9, 0.25), 0.5, [6, 5, 5]),
    ],
    ids=["1 to 10", "between 0 and 10", "sample", "sample at 0.9", "1 + Poisson", "quarters"],
)
def test_quantiles_of_gaps(law: Any, delta: float, expected: list[int]) -> None:
    """delta_k = 6 delta / (pi k)^2: at 0.5 0.30396, 0.07599, 0.03377; at 0.9 0.54714, 0.13678, ...

    1 to 10: P(T >= q) = (11 - q)/10, 0.7 >= 0.69604 > 0.6, then 1 >= 0.924 > 0.9. Uniform:
    1 - q/10, 0.7, then 1. Sample: P(T >= 2) = 1, P(T >= 3) = 1/2, which is enough for 0.45286.
    1 + Poisson(4): P(T >= 2, 3, 4, 5) = 0.98168, 0.90842, 0.76190, 0.56653; it is enough for
    0.69604: 4, for 0.92401: 2, for 0.96623: 2. Quarters, 5.25 to 8.25: P(T >= 5) = 1, P(T >= 6) =
    3/4, P(T >= 7) = 1/2.
    """
    assert [shortest(law, k, delta) for k in (1, 2, 3)] == expected


def test_random_gaps_move_on_with_each_report() -> None:
    """1 to 10 at delta_g = 1/2: q_1 = 4 rounds from 0, q_2 = 1 round from the first checkpoint."""
    schedule = Schedule(gap=stats.randint(1, 11))
    assert [schedule.checkpoint(time, [], 0.5) for time in (1, 4, 5)] == [4, 4, 5]
    assert [schedule.checkpoint(time, [4], 0.5) for time in (5, 6)] == [5, 6]


# ---------------------------------------------------------------- arms that come and go


def test_arms_that_come() -> None:
    """kl after one reward of 1: level / 2. The third arm ever has 6 * 0.1 / (3 pi)^2 = 0.0067547.

    At most eight arms ever: 0.1 / 8 each.
    """
    for ever, lower in (("any", 0.0067547 / 2), (8, 0.00625)):
        oracle = arms("arm-sums", width="kl", arms_ever=ever)
        oracle.decide()
        assert oracle.add_arm() == 2
        oracle.decide(force=2)
        oracle.learn(2, 1.0)
        answer = oracle.decide()
        assert answer.lowers[2] == pytest.approx(lower, abs=1e-7)
        # Played once in the past: twice its lower bound, - (1/2) (2 - 3/4).
        assert answer.margins[2] == pytest.approx(2 * lower - 0.625, abs=1e-6)


def test_one_rho_for_arms_without_end() -> None:
    """The first arm's: mixture at 6 * 0.1 / pi^2, whatever the level of the arm itself."""
    oracle = arms("arm-sums", width="mixture", arms_ever="any", tightest_at=7.0)
    oracle.add_arm()
    oracle.decide(force=2)
    oracle.learn(1, 1.0)
    first, third = 0.6 / math.pi**2, 0.6 / (3 * math.pi) ** 2
    rho = mixture_rho(7 / 4, first)
    width = math.sqrt((0.25 + rho) * math.log((0.25 + rho) / (rho * third**2)))
    assert oracle.decide().uppers[2] == pytest.approx(1 + width, abs=1e-12)


def test_arms_that_go() -> None:
    """A retired arm is not the leader, and its rounds stay in the past.

    kl at 0.1 / 3 after one reward of 1: lower(0) = 1/60. At t = 4, s = 1, alpha = 1/2, mu_b = 1/2
    margin(2) = 1/60 + 0 - (1/2) (2 - 2) = 1/60. Retired too, it leaves the baseline.
    """
    oracle = arms("arm-sums", "two-step", arms=3, width="kl", alpha=0.5)
    oracle.decide(force=0)
    oracle.learn(1, 1.0)
    oracle.decide(force=1)
    oracle.decide(force=1)
    oracle.retire_arm(0)
    answer = oracle.decide(force=1)
    assert (answer.action, answer.event) == (2, "optimistic")
    assert answer.margin == pytest.approx(1 / 60, abs=1e-12)
    assert math.isnan(answer.margins[0])
    oracle.retire_arm(2)
    assert oracle.decide().action == 1


# ---------------------------------------------------------------- guards


def test_guard_of_a_known_mean() -> None:
    """-(1/2) (s + 1 - t/4): 0 at t = 4; a round without a reward is worth nothing."""
    oracle = guard()
    for time in (1, 2, 3):
        answer = oracle.decide("new")
        assert (answer.action, answer.event) == ("old", "baseline")
        assert answer.proposed == -(4 - time) / 8
        assert answer.margin == time / 8
    answer = oracle.decide("new")
    assert (answer.action, answer.event, answer.margin) == ("new", "optimistic", 0.0)
    answer = oracle.decide(7)
    assert (answer.action, answer.proposed) == ("old", -3 / 8)


def test_proposal_that_is_the_baseline() -> None:
    """It is played as the baseline, and counts as such."""
    oracle = guard()
    for time in range(1, 6):
        answer = oracle.decide("old")
        assert (answer.action, answer.event, answer.margin) == ("old", "baseline", time / 8)


def test_guard_with_an_interval() -> None:
    """[1/4, 3/4], the mean may vary: (t - 1)/16 - 9/16, 0 at t = 10; T = 4: slack (4 - t)/16."""
    oracle = guard(baseline_mean=(0.25, 0.75))
    answers = [oracle.decide("new") for _ in range(10)]
    assert [answer.proposed for answer in answers] == [(time - 10) / 16 for time in range(1, 11)]
    assert [answer.action for answer in answers] == ["old"] * 9 + ["new"]
    assert answers[2].baseline_margin == 3 / 16
    oracle = guard(baseline_mean=(0.25, 0.75), checkpoint_every=4)
    proposed = [oracle.decide("new").proposed for _ in range(5)]
    assert proposed == [-6 / 16, -6 / 16, -6 / 16, -6 / 16, -2 / 16]


def test_guard_that_learns_the_mean() -> None:
    """Two events, 0.05 each; kl after one reward of 1: [0.025, 1], no arms to share with.

    One constant mean: m (t/4 - 1), at t = 2 -1/2 (hi), at t = 5 0.025/4 (lo). At t = 4 it is 0.
    """
    oracle = guard(baseline_mean="learned", width="kl")
    assert oracle.decide("new").proposed == -0.75
    oracle.learn(1, 1.0)
    assert oracle.decide("new").proposed == -0.5
    oracle.decide("new")
    assert oracle.decide("new", force="old").proposed == 0.0
    assert oracle.decide("new").proposed == pytest.approx(0.00625, abs=1e-12)


def test_guard_sums_rewards() -> None:
    """60 rewards of 1, sigma = 1/2, ``paper`` accounting and ``subgaussian``.

    psi = 0.5 sqrt(120 log(3 * 3600 / 0.1)) = 0.5 sqrt(120 * 11.5898865) = 18.6466242; margin at
    t = 61: 41.3533758 - (1/2) (61 - 15.25) = 18.4783758.
    """
    oracle = guard(accounting="paper", cumulative="subgaussian")
    for number in range(1, 61):
        oracle.decide("new", force="new")
        oracle.learn(number, 1.0)
    assert oracle.decide("new").margin == pytest.approx(18.4783758, abs=CLOSE)


# ---------------------------------------------------------------- delta, and late rewards


def test_an_interval_that_is_cut_is_paid_for() -> None:
    assert events("oracle", "means", learned=False, random_gaps=True, cut=True) == [
        "estimator",
        "schedule",
    ]
    assert events("martingale", "means", learned=False, random_gaps=False, cut=True) == [
        "estimator",
        "martingale",
    ]


def test_events_and_their_shares() -> None:
    """Who takes part, and what the baseline's own interval leaves."""
    assert events("arm-sums", "means", learned=True, random_gaps=False) == ["estimator"]
    both = events("larger", "linear", learned=True, random_gaps=False)
    assert both == ["estimator", "martingale"]
    three = events("martingale", "none", learned=True, random_gaps=True)
    assert three == ["martingale", "baseline", "schedule"]
    shares = levels(three, 0.1, "union", None, 0.04)
    assert [shares[event] for event in three] == pytest.approx([0.02] * 3)
    weights = {"martingale": 2.0, "baseline": 1.0, "schedule": 1.0}
    assert levels(three, 0.1, "union", weights)["martingale"] == pytest.approx(0.05)
    assert levels(three, 0.1, "paper", None)["baseline"] == 0.1
    # Nothing rests on the bounds where the past is known: all of delta is left to the gaps.
    gaps = events("oracle", "means", learned=False, random_gaps=True)
    assert levels(gaps, 0.1, "union", None) == {"estimator": 0.1, "schedule": 0.1}


def test_a_promise_is_that_of_its_decision() -> None:
    """kl at 0.025: lower 0.0125 after a reward of 1. Round 2 is played then, and is not rewarded.

    Round 3 pays 1: lower = sqrt(3 * 0.025 / 8) = 0.0968246, the promise stays 0.0125. The summed
    rewards are worth max(2 - psi, 0) = 0. Margin at t = 4: 0.0125 + 0.0968246 - (1/2) (4 - 1).
    """
    oracle = arms(width="kl")
    for number in (1, 2, 3):
        oracle.decide(force=0)
        if number != 2:
            oracle.learn(number, 1.0)
    assert oracle.decide().margins[0] == pytest.approx(0.1093246 - 1.5, abs=CLOSE)


def test_a_window_settles_baseline_rounds_too() -> None:
    """W = 2 and the default 0: the baseline's round 1 is learned from at the start of round 3.

    kl at 0.1 / 2 after one reward of 0: [0, 0.975].
    """
    oracle = arms("arm-sums", baseline_mean="learned", width="kl", window=2, default_reward=0.0)
    uppers = [oracle.decide(force=1).uppers[1] for _ in range(3)]
    assert uppers == [1.0, 1.0, pytest.approx(0.975, abs=1e-12)]


# ---------------------------------------------------------------- lost decisions


def test_what_waits_for_confirmation_counts_nothing() -> None:
    """kl at 0.1 / 2: lower 0.025 after a reward of 1. Two rounds without: s = 3, N = 1, t = 4.

    Margin 0.025 - (1/2) (4 - 1). Edition 1 adds 0.025 for round 4 and min(0.025, 1/2) for round 3.
    """
    for edition, promised in ((2, 0.0), (1, 0.05)):
        oracle = arms("arm-sums", width="kl", confirm=True, edition=edition)
        for number in (1, 2, 3):
            oracle.decide(force=0)
            if number == 2:
                oracle.learn(2, 1.0)
        expected = 0.025 + promised - 1.5
        assert oracle.decide().margins[0] == pytest.approx(expected, abs=1e-12)


def test_word_and_default() -> None:
    """W = 2, default 1/4, sums not cut. Of rounds 1 to 4 the first two were said, 2 and 3 rewarded.

    At t = 7 rows 1/4 and 1 are summed: 5/4 - psi(2) - (1/2) (5 - 7/4) with lower_0 <= 0. Without
    word nothing is: - (1/2) (5 - 7/4). By reward: 1/4 + 1 + 1 + 1/4 - psi(4).
    """
    for confirm, said, rows in (
        (True, (1, 2), (2, 1.25)),
        (True, (), (0, 0)),
        ("by", (), (4, 2.5)),
    ):
        oracle = arms(clip="none", confirm=confirm, window=2, default_reward=0.25)
        for number in (1, 2, 3, 4, 5, 6):
            oracle.decide(force=0 if number < 5 else 1)
            if number in said:
                assert oracle.played(number) == "played"
            if number in (2, 3):
                oracle.learn(number, 1.0)
        answer = oracle.decide()
        assert (len(oracle.history.taken), sum(oracle.history.taken)) == rows
        assert int(sum(oracle.history.learned)) == rows[0]
        expected = rows[1] - oracle.psi() - 0.5 * (5 - 1.75) + max(answer.lowers[0], 0.0)
        assert answer.margins[0] == pytest.approx(expected, abs=1e-12)


def test_missing_without_a_default_is_summed_as_nothing() -> None:
    """W = 1: at t = 3 the rewards 1 and 0 are summed, and one is learned: N_0 = 1, lower 0.025.

    Rounds 1 and 2 are owed for: arm sums 0.05 - (1/2) (3 - 3/4). Edition 1 has two plays.
    """
    for edition, kept in ((2, 0.0), (1, 0.025)):
        oracle = arms("arm-sums", width="kl", window=1, edition=edition)
        oracle.decide(force=0)
        oracle.learn(1, 1.0)
        oracle.decide(force=0)
        answer = oracle.decide()
        assert oracle.history.taken == ([1.0, 0.0] if edition == 2 else [1.0])
        assert answer.margins[0] == pytest.approx(0.05 + kept - 1.125, abs=1e-12)


def test_fallbacks_and_why() -> None:
    """mu_b = 1/2, alpha = 1/4, no rows learned. Round 1 fell back with a reward of 1.

    As the baseline's: s = 0 at t = 2, -(1/2) (1 - 1/2) = -1/4. By choice s = 1, and without the cut
    1 - psi(1) - (1/2) (2 - 1/2). Nothing is learned of arm 0 or of the baseline.
    """
    oracle = arms(confirm=True)
    oracle.decide(force=0)
    assert oracle.fall_back(1) == "baseline"
    assert oracle.learn(1, 1.0) == "ignored"
    assert oracle.decide().margins[0] == -0.25
    oracle = arms(clip="none", confirm=True)
    oracle.decide(force=0)
    assert oracle.fall_back(1, "choice") == "choice"
    assert oracle.learn(1, 1.0) == "learned"
    answer = oracle.decide()
    assert answer.margins[0] == pytest.approx(1 - oracle.psi() - 0.75, abs=1e-12)
    assert answer.uppers[0] == math.inf
    told = arms(clip="none", confirm=True, baseline_mean=None)
    told.decide(force=0, baseline_mean=0.5)
    assert told.fall_back(1, "choice") == "baseline"
