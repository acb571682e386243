"""Cases small enough to work out on paper, put to the oracle itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oracle import Oracle
from oracle.catalogue import CATALOGUE
from oracle.compare import tied
from oracle.widths import arm_mixture, cumulative, minus_lambert_below, mixture_rho

CONSERVATIVE = [name for name in CATALOGUE if CATALOGUE[name].past not in ("none", "oracle")]


def _two_arms(name: str, **more: object) -> Oracle:
    """Arm 1 is the baseline, with mean 1/2; alpha = 1/4; Bernoulli rewards."""
    told: dict[str, object] = {
        "arms": 2,
        "baseline": 1,
        "baseline_mean": 0.5,
        "alpha": 0.25,
        "delta": 0.1,
        "reward_range": (0.0, 1.0),
        **more,
    }
    return Oracle(name, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["CUCB", "CUCB-L", "CUCB-M", "CUCB-S", "CUCB2"])
def test_first_play_of_an_unknown_arm(name: str) -> None:
    """Nothing is known of arm 0, so it may be as bad as 0.

    margin = 0 - mu_b (s + 1 - alpha t) = -(1/2) (1 - t/4): -3/8, -1/4, -1/8 and 0 at t = 4, which
    is safe. Playing the baseline has the margin alpha mu_b t = t/8.
    """
    oracle = _two_arms(name)
    for time in (1, 2, 3):
        answer = oracle.decide()
        assert (answer.action, answer.event) == (1, "baseline")
        assert answer.margins[0] == -(4 - time) / 8
        assert math.isnan(answer.margins[1])
        assert answer.margin == time / 8
        assert (answer.upper, answer.lower) == (0.5, 0.5)
    answer = oracle.decide()
    assert (answer.round, answer.action, answer.event, answer.margin) == (4, 0, "optimistic", 0.0)
    assert (answer.upper, answer.lower) == (math.inf, 0.0)


def test_a_reward_of_zero_costs_a_whole_mean() -> None:
    """After r = 0 at t = 4: s = 1, margin = 0 - (1/2) (2 - t/4), 0 again at t = 8."""
    oracle = _two_arms("CUCB2")
    for _ in range(3):
        oracle.decide()
    oracle.learn(oracle.decide().round, 0.0)
    played = [oracle.decide().action for _ in range(4)]
    assert played == [1, 1, 1, 0]


def test_checkpoints_at_their_own_round() -> None:
    """T = 4, alpha = 1/4, mu_b = mu_l = 1/2: slack = (4 - t)/8 for t <= 4, then (8 - t)/8.

    margin(0) = -(1/2) (s + 1 - t/4) + slack. t = 1: -3/8 + 3/8 = 0, safe at once. With r = 0 there
    and s = 1 it is -(1/2) (2 - t/4) + slack: t = 2, 3: -3/4 + 1/4, -5/8 + 1/8; t = 4, a checkpoint,
    slack 0: -1/2; all of them -1/2. t = 5, the next phase: -3/8 + 3/8 = 0, safe again.
    """
    oracle = _two_arms("CUCB2T", checkpoint_every=4)
    answer = oracle.decide()
    assert (answer.action, answer.margin) == (0, 0.0)
    oracle.learn(1, 0.0)
    for _ in (2, 3, 4):
        answer = oracle.decide()
        assert answer.action == 1
        assert answer.margins[0] == -0.5
    answer = oracle.decide()
    assert (answer.round, answer.action, answer.margin) == (5, 0, 0.0)


def test_checkpoint_every_round_is_every_round() -> None:
    """T = 1: the first checkpoint >= t is t, and there is no slack."""
    oracle, plain = _two_arms("CUCB2T", checkpoint_every=1), _two_arms("CUCB2")
    for _ in range(30):
        one, other = oracle.decide(), plain.decide()
        assert (one.action, one.margin) == (other.action, other.margin)
        if one.action == 0:
            oracle.learn(one.round, 1.0)
            plain.learn(other.round, 1.0)


def test_lower_bound_on_the_baseline_in_the_slack() -> None:
    """mu_l = 1/4 in place of 1/2: at t = 1, -3/8 + (1/4) (1/4) 3 = -3/16."""
    oracle = _two_arms("CUCB2T", checkpoint_every=4, baseline_lower=0.25)
    assert oracle.decide().margins[0] == -3 / 16


def test_sign_of_psi_and_the_clip() -> None:
    """psi is taken from the rewards.

    ``paper`` accounting, delta = 0.1, sigma = 1/2. Round 1 is played by force, r = 1. At t = 2,
    s = 1: L = log(3 / 0.1) = log 30 = 3.4012, psi = 0.5 sqrt(2 L) + 2 L / 3 = 1.3041 + 2.2675 =
    3.5715, the past is 1 - 3.5715 = -2.5715. lower(0) = 1 - 0.5 sqrt(2 log(2 / 0.1)) < 0 counts as
    0. margin = past - (1/2) (2 - 1/2) = past - 3/4: -0.75 with the clip, -3.3215 without.
    """
    for clip, margin in (("zero", -0.75), ("none", -3.3215)):
        oracle = _two_arms("CUCB2", accounting="paper", clip=clip)
        oracle.decide(force=0)
        oracle.learn(1, 1.0)
        assert oracle.decide().margins[0] == pytest.approx(margin, abs=1e-4)


def test_psi_before_any_reward() -> None:
    """psi(0): 2 L / 3 at L = log(3 / 0.1), 0 without the Freedman term, 0 for the mixture."""
    for kind, psi in (("paper", 2 * math.log(30) / 3), ("subgaussian", 0.0), ("mixture", 0.0)):
        oracle = _two_arms("CUCB2", accounting="paper", clip="none", cumulative=kind)
        assert oracle.decide().margins[0] == pytest.approx(-0.375 - psi, abs=1e-12)


def test_shares_of_delta() -> None:
    """Two events share 0.1: the arm has 0.05, and so has psi one-sided, 0.05 * 18 / pi^2 in L.

    After one reward of 1: width = 0.5 sqrt(2 log(2 zeta(3) 2 / 0.05)) = 0.5 sqrt(2 * 4.5661) =
    1.5110; psi = 0.5 sqrt(2 L) + 2 L / 3 with L = log(3 pi^2 / (18 * 0.05)) = log 32.899 = 3.4934:
    1.3216 + 2.3290 = 3.6506. The baseline's margin at t = 2 is past + alpha mu_b 2 - mu_b s
    = (1 - 3.6506) + 1/4 - 1/2 = -2.9006.
    """
    oracle = _two_arms("CUCB2", clip="none")
    oracle.decide(force=0)
    oracle.learn(1, 1.0)
    answer = oracle.decide()
    assert answer.uppers[0] == pytest.approx(1 + 1.5110, abs=1e-4)
    assert answer.lowers[0] == pytest.approx(1 - 1.5110, abs=1e-4)
    assert answer.action == 1
    assert answer.margin == pytest.approx(-2.9006, abs=1e-4)


def test_ridge_of_one_row() -> None:
    """d = 2, phi = (1, 0), lambda = 1, r = 1: V = diag(2, 1), theta_hat = (1/2, 0).

    beta = 0.1 sqrt(2 log((1 + 1 * 2 / 1) / 0.05)) + 1 = 0.1 sqrt(2 * 4.0943) + 1 = 1.28616 with
    D = 1, s = 1. upper of (1, 0): 1/2 + beta / sqrt(2) = 1.40945; of (0, 1): beta.
    """
    rows = np.eye(2)
    told = {"baseline": 1, "baseline_mean": 0.5, "alpha": 0.25, "delta": 0.05, "noise": 0.1}
    oracle = Oracle("CLUCB", features=rows, theta_bound=1.0, **told)  # type: ignore[arg-type]
    first = oracle.decide(force=0)
    # s = 0: beta = 0.1 sqrt(2 log(2 / 0.05)) + 1 = 1.271620; theta_hat = 0.
    assert first.uppers[0] == pytest.approx(1.271620, abs=1e-6)
    oracle.learn(1, 1.0)
    answer = oracle.decide(baseline=1, baseline_mean=0.5)
    assert answer.uppers[0] == pytest.approx(0.5 + 1.28616 / math.sqrt(2), abs=1e-5)
    # x = 2 phi: <theta_hat, x> = 1, |x| = 2 / sqrt(2), 1 - 1.28616 * 1.41421 < 0 is cut to 0.
    assert answer.margins[0] == -0.75


def test_self_normalised_without_the_clip() -> None:
    """The case above: 1 - 1.28616 sqrt(2) - 0.75 = -1.56890."""
    told = {"baseline": 1, "baseline_mean": 0.5, "alpha": 0.25, "delta": 0.05, "noise": 0.1}
    more = {"features": np.eye(2), "theta_bound": 1.0, "clip": "none"}
    oracle = Oracle("CLUCB", **told, **more)  # type: ignore[arg-type]
    oracle.decide(force=0)
    oracle.learn(1, 1.0)
    assert oracle.decide().margins[0] == pytest.approx(-1.56890, abs=1e-5)


def test_units() -> None:
    """Range (-10, 10): the baseline's 0 is 1/2 inside, margins are 20 times as long."""
    oracle = _two_arms("CUCB", reward_range=(-10.0, 10.0), baseline_mean=0.0)
    answer = oracle.decide()
    assert (answer.margins[0], answer.margin) == (20 * -3 / 8, 20 / 8)
    assert (answer.upper, answer.lower) == (0.0, 0.0)
    assert (answer.uppers[0], answer.lowers[0]) == (math.inf, -10.0)


def test_constant_feature() -> None:
    """Range (1, 3), theta = 2, phi = 1: B' = sqrt(4 + 1) / 2, and V is 2 by 2.

    No data: theta_hat = 0, |phi'| = sqrt(2), D' = sqrt(2), noise' = 1/2, lambda = 1:
    beta = 0.5 sqrt(2 log((1 + 2) / 0.05)) + 1.118034 = 1.430794 + 1.118034 = 2.548828;
    upper' = beta sqrt(2) = 3.604587, in units 2 * 3.604587 + 1 = 8.209175.
    """
    oracle = Oracle(
        "LinUCB", features=[[1.0], [0.5]], delta=0.05, reward_range=(1.0, 3.0), theta_bound=2.0
    )
    answer = oracle.decide()
    assert answer.margin is None
    assert answer.upper == pytest.approx(8.209175, abs=1e-5)
    assert answer.lower == pytest.approx(2 - 8.209175, abs=1e-5)


def test_mixture_numbers() -> None:
    """w exp(-w) = delta^2 / e at w = -W_{-1}, and the two-sided boundary is tightest at v*."""
    for level in (0.5, 0.1, 1e-3, 1e-9):
        w = minus_lambert_below(level)
        assert w > 1
        assert math.log(w) - w == pytest.approx(2 * math.log(level) - 1, rel=1e-12)
    best = mixture_rho(100.0, 0.05)

    def boundary(rho: float) -> float:
        return math.sqrt((100 + rho) * math.log((100 + rho) / (rho * 0.05**2)))

    assert boundary(best) < min(boundary(0.9 * best), boundary(1.1 * best))
    # One arm, N = 100, sigma = 1: the same boundary divided by N.
    assert arm_mixture(100, 1, 1.0, 0.05, 100.0) == pytest.approx(boundary(best) / 100, rel=1e-12)
    # One-sided at s = 100: sqrt(2 (100 + rho) log(1 + sqrt((100 + rho) / rho) / 0.1)).
    one = math.sqrt(2 * (100 + best) * math.log(1 + math.sqrt((100 + best) / best) / 0.1))
    assert cumulative("mixture", 100, 1.0, 0.05, 100.0, proved=True) == pytest.approx(one)


@pytest.mark.parametrize("name", ["CUCB", "CUCB2"])
def test_pending_rounds(name: str) -> None:
    """A round without a reward counts in s, and its arm's lower bound, here 0, is its worth.

    Played at t = 4, no reward: margin(0) at t = 5 is -(1/2) (2 - 5/4) = -3/8.
    """
    oracle = _two_arms(name)
    for _ in range(4):
        oracle.decide()
    answer = oracle.decide()
    assert answer.margins[0] == -3 / 8
    assert answer.uppers[0] == math.inf


def test_window_settles_at_its_end() -> None:
    """W = 2: round 1 settles at the start of round 3, not before, and later rewards are dropped."""
    oracle = _two_arms("CUCB2", window=2, default_reward=1.0)
    oracle.decide(force=0)
    oracle.learn(1, 0.0)
    assert oracle.decide(force=0).uppers[0] == math.inf
    third = oracle.decide(force=1)
    assert third.uppers[0] + third.lowers[0] == pytest.approx(0.0)  # the mean is 0
    fourth = oracle.decide(force=1)
    assert fourth.uppers[0] + fourth.lowers[0] == pytest.approx(1.0)  # 0 and the default 1
    oracle.learn(2, 0.0)
    fifth = oracle.decide(force=1)
    assert fifth.uppers[0] == fourth.uppers[0]


def test_close_with_and_without_a_default() -> None:
    """Without a window the default is learned at once; without a default nothing is."""
    oracle = _two_arms("CUCB2", default_reward=0.5)
    oracle.decide(force=0)
    oracle.close(1)
    answer = oracle.decide()
    assert answer.uppers[0] + answer.lowers[0] == pytest.approx(1.0)
    oracle = _two_arms("CUCB2")
    oracle.decide(force=0)
    oracle.close(1)
    oracle.learn(1, 1.0)
    assert oracle.decide().uppers[0] == math.inf


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_baseline_rewards_are_ignored(name: str) -> None:
    """Only rounds of S teach."""
    told: dict[str, object] = {"baseline": 0, "baseline_mean": 0.5, "alpha": 0.01, "delta": 0.1}
    told["reward_range"] = (0.0, 1.0)
    if CATALOGUE[name].schedule == "checkpoints":
        told["checkpoint_every"] = 2
    if CATALOGUE[name].estimator == "means":
        told["arms"] = 2
    else:
        told |= {"features": np.eye(2), "theta_bound": 1.0}
    oracle = Oracle(name, **told)  # type: ignore[arg-type]
    first = oracle.decide()
    oracle.learn(1, 1.0)
    second = oracle.decide()
    assert (first.action, second.action) == (0, 0)
    assert first.uppers[1] == second.uppers[1]


def test_what_counts_as_a_tie() -> None:
    """Margin 0 against the baseline is a tie at t = 4 and none at t = 3, where it is -1/8."""
    oracle = _two_arms("CUCB")
    answers = [oracle.decide() for _ in range(4)]
    assert answers[3].action == 0
    assert tied(answers[3], 1)
    assert answers[2].action == 1
    assert not tied(answers[2], 0)
