"""The library against the oracle in a few rounds: each rule at least once, in seconds.

The other comparisons are longer and see more. This one is what `make mutants` can afford to run
for every mutant, without the compiler.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import handrail
from handrail.bounds import arm, bernstein, cumulative, ellipsoid, kl, mixture
from handrail.policies.gaps import GapLaw, Schedule
from handrail.records import RULES, new_record
from oracle import bounded, widths
from oracle.beyond import ContextsInIntervals, ContextsUntold, Proposals, Turnover, around
from oracle.catalogue import CATALOGUE, Parts
from oracle.compare import AT_ONCE, Plan
from oracle.guarding import guarded
from oracle.pair import by_hand, by_name
from oracle.problems import Bernoulli, Contexts, GaussianArms, LinearArms, Problem

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore::handrail.errors.NoGuaranteeWarning")

COUNTS = (1, 2, 3, 10, 1000)
LEVELS = (0.3, 0.05, 1e-6)
ROUNDS = 40
SCATTERED = Plan(longest=12, at_once=0.5, lost=0.2, closed=0.5, held=0.05)
FALLING = Plan(longest=12, at_once=0.5, lost=0.2, closed=0.5, fallen=0.3, choice=0.5)
SAID = Plan(longest=6, at_once=0.6, lost=0.4, held=0.1, fallen=0.15, choice=0.5, said=0.7)
PLANS = {
    "at once": AT_ONCE,
    "scattered": SCATTERED,
    "falling": FALLING,
    "said": SAID,
    "missing": SAID,
}
TOLD: dict[str, dict[str, Any]] = {
    "falling": {"confirm": True},
    "said": {"confirm": True, "window": 5, "default_reward": 0.25},
    "missing": {"confirm": True, "window": 5},
}


def test_arm_widths() -> None:
    for count, level in itertools.product(COUNTS, LEVELS):
        wu = arm.arm_width(arm.WU, count, 7, 4.0, 0.3, level, 0.0)
        assert wu == pytest.approx(widths.arm_wu(count, 4, 0.3, level, proved=False), rel=1e-12)
        ucb1 = arm.arm_width(arm.UCB1, count, 7, 4.0, 0.3, level, 0.0)
        assert ucb1 == pytest.approx(widths.arm_ucb1(count, 7), rel=1e-12)
        rho = mixture.mixture_rho(20.0 * 0.09, level / 4)
        mixed = arm.arm_width(arm.MIXTURE, count, 7, 4.0, 0.3, level, rho)
        assert mixed == pytest.approx(widths.arm_mixture(count, 4, 0.3, level, 20.0), rel=1e-9)
    assert pytest.approx(2.0 * widths.ZETA_3, rel=1e-15) == arm.TWO_ZETA_3
    # Levels whose square is no number any more are treated like the smallest whose is.
    assert mixture.mixture_rho(1.0, 1e-200) == mixture.mixture_rho(1.0, 1e-150) > 0.0
    assert mixture.mixture_rho(1.0, 1e-149) != mixture.mixture_rho(1.0, 1e-150)


def test_boundaries() -> None:
    for name, code in cumulative.CUMULATIVE_BOUNDS.items():
        for count, level in itertools.product((0, *COUNTS), LEVELS):
            if code == cumulative.BERNSTEIN:
                continue
            rho = mixture.mixture_rho(20.0 * 0.09, level)
            found = cumulative.cumulative(code, count, 0.3, level, rho)
            wanted = widths.cumulative(name, count, 0.3, level, 20.0, proved=False)
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-15)
    assert pytest.approx(math.pi**2 / 18.0, rel=1e-15) == cumulative.SPENT_ONE_SIDED


def test_bernstein() -> None:
    """Against the equations: the lines, the boundary, and that weights spend no more than 1."""
    lines = bernstein.bernstein_lines()
    assert [rate for rate, _ in lines] == [0.9 / 2.0**k for k in range(20)]
    shares = [1.0 / ((k + 2.0) * (k + 3.0)) for k in range(20)]
    wanted = [share / math.fsum(shares) for share in shares]
    assert [weight for _, weight in lines] == pytest.approx(wanted, rel=1e-14)
    assert math.fsum(weight for _, weight in lines) <= 1.0
    for rewards, level in itertools.product(([0.5], [1.0, 0.0, 1.0] * 30), LEVELS):
        variation = bounded.bernstein_variance(rewards)
        found = bernstein.bernstein(variation, level)
        assert found == pytest.approx(bounded.bernstein(rewards, level, lines), rel=1e-9)
    for variation in (1e6, 1e12):
        found = bernstein.bernstein(variation, 0.05)
        lowest = math.inf
        for rate, weight in lines:
            # psi(l) = l^2 / 2 + l^3 / 3 + ..., where 1 - l rounds it away
            psi = math.fsum(rate**j / j for j in range(2, 400))
            lowest = min(lowest, (psi * variation - math.log(weight * 0.05)) / rate)
        assert found == pytest.approx(lowest, rel=1e-12)


def test_kl() -> None:
    for count, level in itertools.product((1, 2, 5, 15, 16, 17, 100, 10**6), LEVELS):
        for share in (0.0, 0.01, 0.3, 0.5, 0.97, 1.0):
            total = round(share * count) if count < 1000 else share * count
            low, high = kl.kl_interval(count, float(total), level)
            lower, upper = bounded.arm_kl(float(total), count, level)
            assert low <= total / count <= high
            assert (low, high) == pytest.approx((lower, upper), rel=1e-8, abs=1e-12)
    assert kl.kl_interval(3, 2.0, 0.0) == (0.0, 1.0)
    assert kl.kl_interval(3, -0.5, 0.1) == kl.kl_interval(3, 0.0, 0.1)
    assert kl.kl_interval(3, 3.5, 0.1) == kl.kl_interval(3, 3.0, 0.1)


def test_ellipsoids() -> None:
    bounds: dict[str, Any] = {"noise": 0.3, "ridge": 0.7, "theta_bound": 2.0}
    for rows, level in itertools.product((0, 1, 50), LEVELS):
        rules = new_record(
            RULES, dim=3, feature_bound=1.5, estimator_level=level, width=ellipsoid.PAPER, **bounds
        )
        found = ellipsoid.radius_at(rules[0], rows, math.nan)
        wanted = widths.ellipsoid_paper(rows, dim=3, level=level, feature_bound=1.5, **bounds)
        assert found == pytest.approx(wanted, rel=1e-12)
        for width in (ellipsoid.DETERMINANT, ellipsoid.INTERSECTION):
            rules["width"] = width
            found = ellipsoid.radius_at(rules[0], rows, 1.3)
            log_det = 1.3 + 3 * math.log(0.7)
            wanted = widths.ellipsoid_determinant(log_det, dim=3, level=level, **bounds)
            assert found == pytest.approx(wanted, rel=1e-12)


def _problem(kind: str, seed: int) -> Problem:
    rng = np.random.default_rng([170, seed])
    alpha = (0.2137, 0.6137)[seed % 2]
    if kind == "bernoulli":
        return Bernoulli(rng, arms=(3, 10)[seed % 2], rank=1, alpha=alpha)
    if kind == "gaussian":
        return GaussianArms(rng, arms=(4, 17)[seed % 2], rank=1, noise=0.2, alpha=alpha)
    if kind == "linear":
        ridge = (1.0, 30.0)[seed % 2]
        return LinearArms(rng, arms=5, dim=3 - seed % 2, rank=1, alpha=alpha, ridge=ridge)
    make = ContextsInIntervals if kind == "intervals" else Contexts
    return make(rng, dim=3, noise=0.3, alpha=alpha)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue(name: str, plan: str) -> None:
    """Rewards at once, late or never; fallbacks and choices; word that an action was played."""
    parts = CATALOGUE[name]
    kinds = ["bernoulli", "gaussian"] if parts.estimator == "means" else ["linear", "contexts"]
    for seed, kind in enumerate(kinds):
        more = TOLD.get(plan, {})
        if parts.past == "oracle" and kind == "contexts":
            continue  # told the true means every round: see test_oracle_contexts.py
        by_name(name, _problem(kind, seed), ROUNDS, plan=PLANS[plan], seed=seed, **more)


@pytest.mark.parametrize("schedule", ["every-round", "checkpoints"])
@pytest.mark.parametrize("told", ["known", "interval", "learned"])
@pytest.mark.parametrize("kind", ["bernoulli", "linear", "contexts", "intervals"])
def test_parts(kind: str, told: str, schedule: str) -> None:
    """Every past bound and selection, with all that may be known of the baseline."""
    linear = kind in ("linear", "contexts", "intervals")
    own = "self-normalised" if linear else "arm-sums"
    selections = ("two-step", "largest-lower", "largest-lower-literal", "constrained")
    for seed, past in enumerate((own, "martingale", "larger")):
        problem = _problem(kind, seed)
        more: dict[str, Any] = {"clip": ("zero", "none")[seed % 2]}
        if told == "learned":
            if kind == "intervals":
                return  # an interval cannot be learned
            if kind == "contexts":
                problem = ContextsUntold(np.random.default_rng([172, seed]), dim=3, noise=0.3)
            more["baseline_mean"] = "learned"
        elif told == "interval" and kind in ("bernoulli", "linear"):
            more["baseline_mean"] = around(problem.settings)
        if kind == "bernoulli":
            more |= {"width": "kl", "cumulative": "bernstein"} if past != own else {"width": "kl"}
        parts = Parts("linear" if linear else "means", past, selections[seed], schedule)
        by_hand(parts, problem, ROUNDS, seed=seed, plan=(AT_ONCE, SCATTERED)[seed % 2], **more)


@pytest.mark.parametrize("width", ["wu", "mixture", "kl", "ucb1"])
@pytest.mark.parametrize("ever", [6, "any"])
def test_arms_that_come_and_go(width: str, ever: int | str) -> None:
    """Shares of the level for all arms there may be; bounds that are kept, and that move."""
    parts = Parts("means", "arm-sums", "constrained", "every-round")
    problem = Turnover(np.random.default_rng(173), arms=3, rank=1, alpha=0.6137)
    more: dict[str, Any] = {"arms_ever": ever, "width": width}
    by_hand(parts, problem, ROUNDS, after=problem.after(8, 6), **more)


def test_what_waits_is_counted() -> None:
    told: dict[str, Any] = {"arms": 3, "baseline": 1, "alpha": 0.5, "delta": 0.1}
    told |= {"baseline_mean": "learned", "reward_range": (0.0, 1.0)}
    policy = handrail.make_policy("CUCB", **told)
    made = [policy.decide() for _ in range(4)]
    ledger = policy._state.model.ledger[0]
    held = [each for each in made if each.event == "baseline"]
    assert (ledger["waiting"], ledger["pending"]) == (len(held), 4 - len(held))
    policy.learn(held[0], 0.5)
    policy.close(held[1])
    assert (ledger["waiting"], ledger["lessons"], ledger["lesson"]) == (len(held) - 2, 1, 0.5)


@pytest.mark.parametrize("gap", [7, np.array([3, 8, 8, 9, 14, 20])], ids=["least", "sample"])
def test_reported_checkpoints(gap: Any) -> None:
    problem = _problem("bernoulli", 1)
    parts = Parts("means", "larger", "constrained", "checkpoints")

    def after(time: int, policy: Any, oracle: Any) -> None:
        if time % 9 == 0:
            policy.checkpoint()
            oracle.checkpoint()

    told: dict[str, Any] = {"checkpoint_every": None, "checkpoint_gap": gap}
    by_hand(parts, problem, ROUNDS, after=after, **told)
    listed: dict[str, Any] = {"checkpoint_every": None, "checkpoints": [1, 4, 11, 30]}
    by_hand(parts, _problem("bernoulli", 0), ROUNDS, **listed)


@pytest.mark.parametrize("told", ["known", "interval", "learned"])
@pytest.mark.parametrize("plan", PLANS)
def test_guards(plan: str, told: str) -> None:
    for seed, name in enumerate(("GUARD", "GUARD-T")):
        problem = Proposals(np.random.default_rng([171, seed]), alpha=0.4137)
        more: dict[str, Any] = {"checkpoint_every": 7} if name == "GUARD-T" else {}
        more |= TOLD.get(plan, {})
        if told == "learned":
            more["baseline_mean"] = "learned"
        elif told == "interval":
            more["baseline_mean"] = around(problem.settings)
        guarded(name, problem, ROUNDS, plan=PLANS[plan], seed=seed, **more)


def test_quantiles_of_samples() -> None:
    """The largest q that at most a share delta of the sample is below."""
    sample = [9, 3, 8, 8, 14, 20, 25, 30, 31, 30]
    for delta in (0.0, 0.05, 0.1, 0.15, 0.35, 0.99):
        q = GapLaw(sample).quantile(delta)
        assert sum(each < q for each in sample) <= delta * len(sample)
        assert sum(each < q + 1 for each in sample) > delta * len(sample)
    assert GapLaw([1, 2.5]).quantile(0.0) == 1


def test_a_guess_that_is_too_large_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ppf only says where to look: with P(T < q) = (q - 1) / 8 it is 1, 2, 5 or 9."""

    class Off:
        def __init__(self, guess: float) -> None:
            self.guess = guess

        def ppf(self, _: float) -> float:
            return self.guess

        def cdf(self, q: float) -> float:
            return min(max((q - 1.0) / 8.0, 0.0), 1.0)

    law = GapLaw({"law": "uniform", "args": [1.0, 8.0]})
    for delta, q in ((0.1, 1), (0.2, 2), (0.5, 5)):
        for guess in (0.5, 2.0, 3.0, 5.0, 8.0, 40.0, math.nan):
            law._law = Off(guess)
            assert law.quantile(delta) == q
    # Of gaps that are below 1 too often nothing has to be proved: they are taken as 1.
    monkeypatch.setattr(Off, "cdf", lambda self, q: 0.5)
    for guess in (0.5, 2.0, 3.0, 5.0, 8.0):
        law._law = Off(guess)
        assert law.quantile(0.1) == 1


def test_long_gaps() -> None:
    """Of laws by the million, and by the trillion where no whole number is lost."""
    assert GapLaw(10**12).quantile(0.0) == 10**12
    assert GapLaw([10**12, 10**13]).quantile(0.1) == 10**12
    assert GapLaw(2**53).least == 2**53
    with pytest.raises(handrail.InputError):
        GapLaw(2**53 + 1)
    law = {"law": "uniform", "args": [1e6, 1e6]}
    assert GapLaw(law).quantile(0.25) == 1_250_000
    schedule = Schedule(None, GapLaw(law), 0.1)
    for passed in range(5):
        share = 0.6 / (math.pi * (passed + 1)) ** 2
        assert schedule.assured(passed, 7) == 7 + math.floor(1e6 + 1e6 * share)
