"""Past bounds and baselines beyond the paper, worked out on paper, put to the oracle itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import Oracle
from oracle.catalogue import Parts
from oracle.small import arms, plane

CLOSE = 1e-6


# ---------------------------------------------------------------- the larger of two past bounds


def test_larger_of_two() -> None:
    """200 rewards of 1, ``paper`` accounting, t = 201: -(1/2) (201 - 50.25) = -75.375.

    Arm sums: width 0.5 sqrt(2 log(2 * 200^3 / 0.1) / 200) = 0.5 sqrt(37.7815 / 200) = 0.217318,
    200 * 0.782682 = 156.5365. Sums: L = log(3 * 200^2 / 0.1) = 13.997832, sqrt(2 * 200 L) / 2 =
    37.413676, and 2 L / 3 = 9.331888: 153.254436 with ``paper``, 162.586324 with ``subgaussian``.
    To each of them 0.782682 for one more play.
    """
    for cumulative, past in (("paper", 156.5365), ("subgaussian", 162.586324)):
        oracle = arms("larger", accounting="paper", cumulative=cumulative)
        for number in range(1, 201):
            oracle.decide(force=0)
            oracle.learn(number, 1.0)
        answer = oracle.decide()
        assert answer.margins[0] == pytest.approx(past + 0.782682 - 75.375, abs=1e-3)
        assert answer.baseline_margin == pytest.approx(past - 75.375 + 0.5, abs=1e-3)


def test_larger_of_two_action_by_action() -> None:
    """It is one of the two for each action, and the larger."""
    rng = np.random.default_rng(0)
    told: dict[str, Any] = {"arms": 3, "accounting": "paper", "cumulative": "subgaussian"}
    ours = [arms(past, **told) for past in ("larger", "arm-sums", "martingale")]
    for number in range(1, 150):
        arm = 2 * int(rng.integers(2))
        answers = [oracle.decide(force=arm) for oracle in ours]
        both = np.maximum(answers[1].margins, answers[2].margins)
        assert np.array_equal(answers[0].margins, both, equal_nan=True)
        for oracle in ours:
            oracle.learn(number, float(arm == 2))


# ---------------------------------------------------------------- learning from baseline rounds


def test_a_baseline_round_teaches_the_model_and_pays_nothing() -> None:
    """phi_0 = (1, 0), phi_b = (1, 1). The baseline is played at t = 1 and pays 1.

    V = [[2, 1], [1, 2]], V^-1 (1, 1) = (1/3, 1/3) = theta_hat, |phi_0|^2 = 2/3. D^2 = 2 and one
    row: beta = 0.1 sqrt(2 log((1 + 4) / 0.05)) + 1 = 0.1 sqrt(9.2103404) + 1 = 1.3034854. The upper
    bound is 1/3 + 1.0642913. S is still empty: x = phi_0, 1/3 - 1.0642913 - (1/2) (1 - 2/4).
    """
    oracle = plane("self-normalised", [[1.0, 0.0], [1.0, 1.0]], learn_baseline=True, clip="none")
    oracle.decide(force=1)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert answer.uppers[0] == pytest.approx(1.3976246, abs=CLOSE)
    assert answer.margins[0] == pytest.approx(-0.9809580, abs=CLOSE)
    assert (answer.uppers[1], answer.lowers[1]) == (0.5, 0.5)


def test_psi_counts_no_baseline_rounds() -> None:
    """A reward of the baseline is no part of the sum, and psi(0) = 0 stays psi(0)."""
    oracle = arms(learn_baseline=True, cumulative="subgaussian", clip="none")
    oracle.decide(force=1)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert answer.margins[0] == -0.25
    assert answer.baseline_margin == 0.25


# ---------------------------------------------------------------- a baseline in an interval


def test_worse_end_of_one_constant_mean() -> None:
    """m in {1/4, 3/4}, m (t/4 - s - 1): at t = 1 -(3/4)^2, at t = 4 0, at t = 5 (1/4)/4 with lo."""
    oracle = arms(baseline_mean=(0.25, 0.75))
    expected = {1: -9 / 16, 2: -6 / 16, 3: -3 / 16, 4: 0.0, 5: 1 / 16, 6: 2 / 16}
    for time in range(1, 7):
        answer = oracle.decide(force=1)
        assert answer.margins[0] == expected[time]
        assert answer.baseline_margin == time / 16  # m t/4, the smaller with lo
        assert (answer.uppers[1], answer.lowers[1]) == (0.75, 0.25)
    # Two rounds of S pay nothing: at t = 9, s = 2 the baseline's coefficient is 9/4 - 2 > 0, that
    # of the arm 9/4 - 3 < 0.
    oracle.decide(force=0)
    oracle.decide(force=0)
    answer = oracle.decide()
    assert answer.margins[0] == -((3 / 4) ** 2)
    assert answer.baseline_margin == 1 / 16


def test_constant_mean_at_checkpoints() -> None:
    """T = 4: alpha c = 1 from t = 1 to t = 4, where c = 4 still, and 2 from t = 5."""
    oracle = arms(baseline_mean=(0.25, 0.75), checkpoint_every=4)
    margins = [oracle.decide(force=1).margins[0] for _ in range(5)]
    assert margins == [0.0, 0.0, 0.0, 0.0, 0.25]
    oracle = arms(baseline_mean=(0.25, 0.75), checkpoint_every=4)
    oracle.decide(force=0)
    margins = [oracle.decide(force=1).margins[0] for _ in range(4)]
    assert margins == [-0.75, -0.75, -0.75, 0.0]


def test_means_that_vary_within_intervals() -> None:
    """t = 1: [1/4, 1/2], the baseline is played. t = 2: [1/2, 3/4]. t = 3: 1/4 exactly.

    Margins without any past: t = 2: (1/4)(1/4) - (3/4)(3/4) = -1/2, the baseline's 1/16 + 1/8. The
    action is played. t = 3: 1/16 - 9/16 - (3/4)(1/4) = -11/16, the baseline's -1/2 + 1/16.
    """
    parts = Parts("linear", "self-normalised", "constrained", "every-round")
    told: dict[str, Any] = {"dim": 2, "theta_bound": 1.0, "feature_bound": 1.0, "noise": 0.1}
    oracle = Oracle(parts=parts, alpha=0.25, delta=0.05, **told)
    rows = np.eye(2)
    oracle.decide(rows, 1, (0.25, 0.5), force=1)
    second = oracle.decide(rows, 1, (0.5, 0.75), force=0)
    assert (second.margins[0], second.baseline_margin) == (-1 / 2, 3 / 16)
    third = oracle.decide(rows, 1, 0.25)
    assert (third.margins[0], third.baseline_margin) == (-11 / 16, -7 / 16)


def test_selections_compare_uppers_with_hi_and_lowers_with_lo() -> None:
    """The upper bound of an arm never rewarded is infinite; one of 0.99 loses to hi = 1.

    kl at delta / 2 = 0.05, one reward of 0: upper 1 - 0.025 = 0.975, lower 0.
    """
    for hi, action in ((0.97, 0), (0.98, 1)):
        oracle = arms("arm-sums", "constrained", width="kl", baseline_mean=(0.1, hi))
        oracle.decide(force=0)
        oracle.learn(1, 0.0)
        for _ in range(20):
            oracle.decide(force=1)
        assert oracle.decide().action == action
    # Arm 0 is rated high and unsafe at first, arm 2 has the lower bound 0.025 * 2/3 = 1/60.
    for lo, action in ((0.016, 2), (0.017, 1)):
        more: dict[str, Any] = {"arms": 3, "width": "kl", "alpha": 0.5, "baseline_mean": (lo, 0.02)}
        oracle = arms("arm-sums", "largest-lower", **more)
        oracle.decide(force=2)
        oracle.learn(1, 1.0)
        answer = oracle.decide()
        # margin(0) = 1/60 - 0.02 (2 - 1) < 0, margin(2) = 2/60 - 0.02 > 0
        assert answer.margins[0] < 0 < answer.margins[2]
        assert answer.action == action


# ---------------------------------------------------------------- a baseline that is learned


def test_learned_mean_of_an_arm() -> None:
    """Nothing known: [0, 1], m (t/4 - 1). One reward of 1 and kl at 0.1 / 2: [0.025, 1].

    t = 2: the upper end, -1/2. t = 5: the lower, 0.025 / 4.
    """
    oracle = arms("arm-sums", baseline_mean="learned", width="kl")
    answer = oracle.decide(force=1)
    assert answer.margins[0] == -0.75
    assert answer.baseline_margin == 0.0
    assert (answer.uppers[1], answer.lowers[1]) == (1.0, 0.0)
    oracle.learn(1, 1.0)
    margins = [oracle.decide(force=1).margins[0] for _ in range(4)]
    assert margins == pytest.approx([-0.5, -0.25, 0.0, 0.00625], abs=1e-12)


def test_learned_interval_is_cut() -> None:
    """A mixture's interval after one reward is wider than [0, 1]."""
    oracle = arms("arm-sums", baseline_mean="learned", width="mixture")
    oracle.decide(force=1)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert (answer.uppers[1], answer.lowers[1]) == (1.0, 0.0)


@pytest.mark.parametrize("past", ["self-normalised", "martingale"])
def test_learned_mean_in_a_model(past: str) -> None:
    """z = e_1 - (3/4) e_2 at t = 1: length 5/4, beta = 0.1 sqrt(2 log 40) + 1 = 1.2716203.

    The baseline's own z is e_2 / 4. It is played and pays 1: V = diag(1, 2), theta_hat = (0, 1/2),
    beta = 0.1 sqrt(2 log 60) + 1 = 1.2861588. t = 2: z = e_1 + e_2 - (3/2) e_2 = e_1 - e_2 / 2,
    <theta_hat, z> = -1/4, |z| = sqrt(1 + 1/8): -1/4 - 1.2861588 * 1.0606602 = -1.6141775. No cut.
    While S is empty the second expression is the first: e_1 + e_2 / 4 - (3/4) e_2.
    """
    more = {} if past == "self-normalised" else {"cumulative": "mixture"}
    oracle = plane(past, baseline_mean="learned", accounting="paper", **more)
    first = oracle.decide(force=1)
    assert first.margins[0] == pytest.approx(-1.5895254, abs=CLOSE)
    assert first.baseline_margin == pytest.approx(-0.3179051, abs=CLOSE)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert answer.margins[0] == pytest.approx(-1.6141775, abs=CLOSE)
    # Its bounds are those of an action, 1/2 -+ 1.2861588 / sqrt(2), cut to [0, 1].
    assert (answer.uppers[1], answer.lowers[1]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("past", "margin"),
    [("self-normalised", -1.651484), ("martingale", -0.919012), ("larger", -0.919012)],
)
def test_two_expressions_for_a_learned_mean(past: str, margin: float) -> None:
    """Action 0 is played and pays 1: V = diag(2, 1), theta_hat = (1/2, 0), beta = 1.2861588.

    First: z = 2 e_1 - (3/2) e_2, 1 - 1.2861588 sqrt(2 + 9/4) = -1.651484. Second: 1 - psi +
    1/2 - 1.2861588 sqrt(1/2 + 9/4) = -0.632853 - psi, psi = 0.1 sqrt(2 log(3 / 0.05)) = 0.286159
    (``paper`` accounting); the sum less psi is above 0, so that it makes no difference to cut it.
    """
    more: dict[str, Any] = {"accounting": "paper"}
    if past != "self-normalised":
        more["cumulative"] = "subgaussian"
    oracle = plane(past, baseline_mean="learned", **more)
    oracle.decide(force=0)
    oracle.learn(1, 1.0)
    assert oracle.decide().margins[0] == pytest.approx(margin, abs=1e-5)


def test_summed_rewards_beside_a_difference_are_cut() -> None:
    """Action 0 pays 0: V = diag(2, 1), theta_hat = 0, 0 - psi = -0.286159 is cut to 0, z is not.

    -1.2861588 sqrt(1/2 + 9/4) = -2.132853, and with no cut at all -2.419012.
    """
    for clip, margin in (("zero", -2.132853), ("none", -2.419012)):
        more: dict[str, Any] = {"accounting": "paper", "cumulative": "subgaussian", "clip": clip}
        oracle = plane("martingale", baseline_mean="learned", **more)
        oracle.decide(force=0)
        oracle.learn(1, 0.0)
        assert oracle.decide().margins[0] == pytest.approx(margin, abs=1e-5)


def test_pending_rounds_with_a_learned_mean() -> None:
    """No reward yet: features in z, V = I, theta_hat = 0, beta = 1.2716203, lower bound < 0.

    First: z = 2 e_1 - (3/2) e_2, length 5/2: -3.1790507. Second: the round promises nothing,
    z = e_1 - (3/2) e_2, length sqrt(13/4) = 1.8027756: -2.2924460.
    """
    for past, margin in (("self-normalised", -3.1790507), ("martingale", -2.2924460)):
        more = {} if past == "self-normalised" else {"cumulative": "mixture"}
        oracle = plane(past, baseline_mean="learned", accounting="paper", **more)
        oracle.decide(force=0)
        assert oracle.decide().margins[0] == pytest.approx(margin, abs=CLOSE)


# ---------------------------------------------------------------- a model beside means


def test_intersection() -> None:
    """Action 0 pays 1; delta / 2 = 0.025 for the ellipsoid and 0.0125 for each of two arms.

    beta = 0.1 sqrt(2 log 40 + log 2) + 1 = 1.2840934, upper 1/2 + beta / sqrt(2) = 1.4079911. The
    mixture that is tightest after one reward has there the width 0.1 sqrt(w) with
    w - log w = 1 + 2 log 80: w = 12.2713, width 0.350304. Both sides of the arm's own are better;
    the baseline's (0, 1) was never rewarded: beta.
    """
    oracle = plane(
        "self-normalised", width="intersection", tightest_at=1.0, baseline_mean="learned"
    )
    oracle.decide(force=0)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert answer.uppers[0] == pytest.approx(1.350304, abs=1e-5)
    assert answer.lowers[0] == pytest.approx(0.649696, abs=1e-5)
    # z = 2 e_1 - (3/2) e_2 is the ellipsoid's alone: 1 - 1.2840934 sqrt(2 + 9/4).
    assert answer.margins[0] == pytest.approx(-1.647226, abs=1e-5)


def test_balanced_ridge() -> None:
    """B = 1, sigma = 0.1: lambda = 0.01, |phi| = 10, beta = 0.1 sqrt(2 log 20) + 0.1 = 0.344775."""
    oracle = plane("self-normalised", width="determinant", ridge="balanced")
    assert oracle.decide().uppers[0] == pytest.approx(3.447747, abs=CLOSE)


def test_a_known_mean_teaches_the_model() -> None:
    """The case of a baseline round that pays 1, with the mean 1/2 in place of the reward.

    theta_hat = (1/6, 1/6); beta and |phi_0| as there: 1/6 -+ 1.0642913. A reward that comes later
    is ignored.
    """
    oracle = plane("self-normalised", [[1.0, 0.0], [1.0, 1.0]], learn_baseline="mean", clip="none")
    oracle.decide(force=1)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert answer.uppers[0] == pytest.approx(1.2309580, abs=CLOSE)
    assert answer.margins[0] == pytest.approx(-1.1476246, abs=CLOSE)
