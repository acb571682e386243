"""The theorems as functions: maxima, closed forms, limits, what is monotone, what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from handrail import theory
from handrail.bounds.cumulative import PAPER, cumulative
from handrail.errors import InputError
from handrail.theory import Setting

SMALL = Setting(
    alpha=0.05,
    delta=0.01,
    dim=2,
    noise=0.1,
    ridge=0.5,
    theta_bound=0.75,
    feature_bound=2.0,
    baseline_low=0.5,
    baseline_high=0.5,
    gap=0.5,
    rounds=10**6,
)
LINEAR = replace(
    SMALL, dim=100, theta_bound=0.8, feature_bound=9.0, baseline_low=0.55, baseline_high=0.55,
    gap=0.45, rounds=20_000,
)  # fmt: skip


def settings(count: int, seed: int, longest: float = 4.5) -> list[Setting]:
    """Return settings from all over the range, the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        low = rng.uniform(0.02, 1.0)
        drawn.append(
            Setting(
                alpha=rng.uniform(0.01, 0.99),
                delta=10 ** rng.uniform(-6, -0.01),
                dim=int(1 + 10 ** rng.uniform(0, 2)),
                noise=10 ** rng.uniform(-3, 1),
                ridge=10 ** rng.uniform(-3, 3),
                theta_bound=10 ** rng.uniform(-3, 1),
                feature_bound=10 ** rng.uniform(-3, 1.5),
                baseline_low=low,
                baseline_high=rng.uniform(low, 1.0),
                gap=rng.uniform(0.0, 1.0),
                rounds=int(10 ** rng.uniform(0, longest)),
                checkpoint_every=int(10 ** rng.uniform(0, longest + 1)),
            )
        )
    return drawn


def plain_linear(setting: Setting, n: Any) -> Any:
    """Lin(n), written down once more."""
    spread = setting.feature_bound**2 / setting.ridge
    root = np.sqrt(setting.dim * np.log((1 + spread * (1 + n)) / setting.delta))
    beta = setting.noise * root + setting.theta_bound * math.sqrt(setting.ridge)
    squares = 2 * n * setting.dim * np.log1p(n * spread / setting.dim)
    return np.maximum(1, 2 * beta) * np.sqrt(squares)


def plain_g(setting: Setting, s: Any) -> Any:
    """g(s), written down once more."""
    log = np.log(3 * np.maximum(s, 1) ** 2 / setting.delta)
    psi = setting.noise * np.sqrt(2 * s * log) + 2 * log / 3
    half = setting.alpha * setting.baseline_low / 2
    lost = np.minimum(s, plain_linear(setting, s))
    return setting.baseline_high + lost + 2 * psi - half * (s + 1)


def scanned(setting: Setting) -> float:
    """The bound by looking at every s."""
    am = setting.alpha * setting.baseline_low
    ratio = am / ((1 - setting.alpha) * setting.baseline_high + am)
    s = np.arange(math.floor(ratio * setting.checkpoint_every), setting.rounds, dtype=float)
    return max(0.0, 2 / am * float(plain_g(setting, s).max())) if s.size else 0.0


def test_the_search_finds_the_largest_of_all() -> None:
    zero = 0
    for setting in settings(400, seed=1):
        found, wanted = theory.conservative_rounds(setting), scanned(setting)
        assert found == pytest.approx(wanted, rel=1e-11, abs=1e-9)
        zero += wanted == 0.0
    assert 20 < zero < 380  # both kinds are there


def test_g_may_have_two_peaks() -> None:
    """Why no bisection is trusted: g rises, falls, rises again and falls."""
    setting = Setting(
        alpha=0.99, delta=0.9, dim=8000, noise=0.0024, ridge=1.0, theta_bound=0.001,
        feature_bound=0.33, baseline_low=1.0, baseline_high=1.0, gap=0.0, rounds=60_000,
    )  # fmt: skip
    rises = np.diff(plain_g(setting, np.arange(setting.rounds, dtype=float))) > 0
    assert np.count_nonzero(np.diff(rises.astype(int)) == -1) == 2
    for rounds in (500, 5_000, 60_000):
        own = replace(setting, rounds=rounds)
        assert theory.conservative_rounds(own) == pytest.approx(scanned(own), rel=1e-11)


def test_long_horizons_end_at_the_same_maximum() -> None:
    """Beyond its peak g only falls: the bound of 10^6 rounds is that of 10^15."""
    assert theory.conservative_rounds(SMALL) == pytest.approx(scanned(SMALL), rel=1e-11)
    for rounds in (10**7, 10**12, 10**15):
        found = theory.conservative_rounds(replace(SMALL, rounds=rounds))
        assert found == pytest.approx(scanned(SMALL), rel=1e-11)
    # d = 100: the peak is near 10^9; a fine grid around it comes close from below.
    found = theory.conservative_rounds(replace(LINEAR, rounds=10**13))
    grid = np.round(np.geomspace(1, 10**13, 3_000_001))
    near = 2 / (0.05 * 0.55) * float(plain_g(LINEAR, grid).max())
    assert near <= found * (1 + 1e-12)
    assert found == pytest.approx(near, rel=1e-9)


def test_the_closed_form_is_never_below_the_maximum() -> None:
    for setting in settings(200, seed=2):
        for rounds in (setting.rounds, 10**8):
            own = replace(setting, rounds=rounds)
            assert theory.closed_rounds(own) >= theory.conservative_rounds(own)
            assert theory.regret_bound(own, closed=True) >= theory.regret_bound(own)


def test_the_closed_form_is_the_peak_of_f() -> None:
    for setting in settings(100, seed=3):
        own = replace(setting, checkpoint_every=1)
        D0 = max(3.0, 2 * own.feature_bound**2 / own.ridge)
        E = 2 / 3 + math.sqrt(own.ridge) * own.theta_bound + 2 * own.noise
        half = own.alpha * own.baseline_low / 2
        peak = theory.rounds_threshold(own)
        x = np.concatenate([np.geomspace(1.0, 1e3 * peak, 200_001), [peak]])
        f = own.baseline_high + 4 * own.dim * E * np.sqrt(x) * np.log(D0 * x / own.delta) - half * x
        assert theory.closed_rounds(own) * half == pytest.approx(f[-1], rel=1e-9)
        assert f[-1] >= f.max() * (1 - 1e-12)
        # What the closed form rests on: g(s) <= f(s + 1).
        s = np.round(np.geomspace(1, 10**9, 2000)) - 1
        rise = 4 * own.dim * E * np.sqrt(s + 1) * np.log(D0 * (s + 1) / own.delta)
        above = own.baseline_high + rise - half * (s + 1)
        assert (plain_g(own, s) <= above).all()


def test_parts_are_those_of_the_policies() -> None:
    """psi in the transcription above is the library's; so is Lin."""
    for s in (0, 1, 7, 10**5):
        log = math.log(3 * max(s, 1) ** 2 / 0.01)
        wanted = 0.1 * math.sqrt(2 * s * log) + 2 * log / 3
        assert cumulative(PAPER, s, 0.1, 0.01, 0.0) == pytest.approx(wanted)
    for setting in settings(50, seed=4):
        wanted = float(plain_linear(setting, float(setting.rounds)))
        assert theory.linear_regret(setting) == pytest.approx(wanted, rel=1e-12)


RISING = ("dim", "noise", "theta_bound", "feature_bound", "baseline_high", "rounds")
FALLING = ("alpha", "delta", "baseline_low", "checkpoint_every")


@pytest.mark.parametrize("bound", [theory.conservative_rounds, theory.closed_rounds])
def test_monotone_where_it_should_be(bound: Callable[[Setting], float]) -> None:
    """More dimensions, noise, rounds: more unsafe rounds; more leeway, rarer checkpoints: fewer."""
    rng = np.random.default_rng(5)
    for setting in settings(150, seed=6):
        for name in (*RISING, *FALLING):
            value = getattr(setting, name)
            if name in ("alpha", "delta", "baseline_high"):
                more = value + (1 - value) * rng.uniform(0.01, 0.9)
            elif name == "baseline_low":
                more = value + (setting.baseline_high - value) * rng.uniform()
            else:
                more = type(value)(value * rng.uniform(1.0, 30.0)) + (name == "dim")
            before, after = bound(setting), bound(replace(setting, **{name: more}))
            # A bound is the maximum up to 1e-12 of it.
            low, high = (before, after) if name in RISING else (after, before)
            assert low <= high * (1 + 1e-11), (name, setting, more)


def test_the_regret_bound_grows_with_the_horizon_and_the_gap() -> None:
    for setting in settings(100, seed=7):
        longer = replace(setting, rounds=2 * setting.rounds)
        assert theory.regret_bound(longer) > theory.regret_bound(setting)
        wider = replace(setting, gap=1.0)
        assert theory.regret_bound(wider) >= theory.regret_bound(setting)


def test_a_promise_at_every_round_has_no_free_rounds() -> None:
    for setting in settings(50, seed=8):
        own = replace(setting, checkpoint_every=1)
        assert 0.0 < theory.free_stretch(own) < 1.0
        assert theory.free_rounds(own) == 0


def test_rare_checkpoints_leave_the_unconstrained_regret() -> None:
    """T large: the first n rounds are free, and what is left is Lin(n)."""
    for setting in settings(50, seed=9):
        every = math.ceil(
            2 * setting.rounds / theory.free_stretch(replace(setting, checkpoint_every=1))
        )
        own = replace(setting, checkpoint_every=every)
        assert theory.conservative_rounds(own) == 0.0
        assert theory.regret_bound(own) == theory.linear_regret(own)
    # The closed form does not know n: it reaches 0 too, but only far beyond C_b.
    far = replace(SMALL, checkpoint_every=10**14)
    assert theory.free_stretch(far) > theory.rounds_threshold(far)
    assert theory.closed_rounds(far) == 0.0


def test_the_closed_form_has_no_jump_at_the_threshold() -> None:
    least = math.ceil(theory.rounds_threshold(SMALL) / 0.05)
    before, at = (replace(SMALL, checkpoint_every=least + more) for more in (-(10**6), 10**6))
    assert theory.free_rounds(before) < theory.rounds_threshold(SMALL) < theory.free_rounds(at)
    assert theory.closed_rounds(at) == pytest.approx(theory.closed_rounds(before), rel=1e-6)
    assert theory.closed_rounds(at) < theory.closed_rounds(before)


@pytest.mark.parametrize(
    ("alpha", "every", "free"), [(0.06, 50, 3), (0.07, 100, 7), (0.05, 1010, 50), (0.29, 100, 29)]
)
def test_free_rounds_are_counted_as_by_hand(alpha: float, every: int, free: int) -> None:
    """0.29 x 100 is 29, not the 28 that floating point makes of it."""
    assert theory.free_rounds(replace(SMALL, alpha=alpha, checkpoint_every=every)) == free


def test_one_round() -> None:
    """n = 1: only s = 0 is left, and the bound is g(0)."""
    own = replace(SMALL, rounds=1)
    wanted = 2 / 0.025 * (0.5 + 4 * math.log(300) / 3 - 0.0125)
    assert theory.conservative_rounds(own) == pytest.approx(wanted)
    assert theory.regret_bound(own) == pytest.approx(theory.linear_regret(own) + 0.5)


def test_a_course_is_the_bounds_one_by_one() -> None:
    horizons = np.array([1, 2, 50, 333, 10**4, 10**6, 10**8])
    for every in (1, 4000):
        own = replace(SMALL, checkpoint_every=every)
        found = theory.course(own, horizons)
        for place, n in enumerate(horizons.tolist()):
            at = replace(own, rounds=n)
            assert found.rounds[place] == pytest.approx(theory.conservative_rounds(at), rel=1e-11)
            assert found.regret[place] == pytest.approx(theory.regret_bound(at), rel=1e-11)
            assert found.closed[place] == pytest.approx(theory.regret_bound(at, closed=True))
    with pytest.raises(InputError, match="not increasing"):
        theory.course(SMALL, np.array([5, 5]))


def test_vacuous_or_not() -> None:
    linear = theory.evaluate(LINEAR)
    for each in (linear.numeric, linear.closed, linear.printed_every_round):
        assert each.rounds_vacuous
        assert each.regret_vacuous
    assert 1e11 < linear.rounds_threshold < 1e12
    small = theory.evaluate(SMALL)
    assert not small.numeric.rounds_vacuous
    assert not small.numeric.regret_vacuous
    assert small.closed.rounds_vacuous
    found = json.loads(json.dumps(small.json(), allow_nan=False))
    assert found["setting"] == asdict(SMALL)


def test_as_printed_by_hand() -> None:
    """Numbers worked out from the appendix with all symbols put to easy values."""
    own = Setting(
        alpha=0.5, delta=0.03, dim=2, noise=1.0, ridge=1.0, theta_bound=1.0, feature_bound=1.0,
        baseline_low=1.0, baseline_high=1.0, gap=0.25, rounds=100, checkpoint_every=1,
    )  # fmt: skip
    printed = theory.as_printed(own)
    # D0 = 3, so sqrt(D0/delta) = 10; E = 11/3; K = 4 2 (1 + 2) + sqrt 2; alpha mu_l = 1/2.
    K = 24 + math.sqrt(2)
    log = math.log(36 * 10 * K / 0.5)
    L = math.log(10 / math.sqrt(0.5) + 120 * (2 * K) ** 2 * log**2) * log
    lemma = 4 + 8 / 3 * L + 4 / math.sqrt(3) / 0.5**1.5 * K * L + 8 * K**2 * L
    assert printed.rounds_every_round == pytest.approx(lemma, rel=1e-12)
    spread = math.log(51)
    linear = 4 * math.sqrt(200 * spread) * (1 + math.sqrt(2 * math.log(1 / 0.03) + 2 * spread))
    assert printed.linear_regret == pytest.approx(linear, rel=1e-12)
    assert printed.regret_every_round == pytest.approx(linear + lemma, rel=1e-12)
    C_b = 28 * 4 * (22 / 3) ** 2 * math.log(696 * 4 * 100 * (22 / 3) ** 2) ** 2
    assert printed.rounds_threshold == pytest.approx(C_b, rel=1e-12)
    log = math.log(44 * 4 * 10 * (11 / 3) ** 2 / 0.5)
    most = 57 * 4 / 0.5 * (11 / 3) ** 2 * log**2
    assert printed.rounds_checkpoints == pytest.approx(4 * most, rel=1e-12)
    assert printed.regret_checkpoints == pytest.approx(linear + 0.25 / 0.5 * most, rel=1e-12)
    far = replace(own, checkpoint_every=10**8)  # T~ = 5 x 10^7, beyond C_b
    assert printed.rounds_threshold < 5e7
    x = 5e7 + 1
    most = max(0.0, 1 + 8 * 11 / 3 * math.sqrt(x) * math.log(100 * x) - 0.25 * x)
    assert theory.as_printed(far).rounds_checkpoints == pytest.approx(4 * most, rel=1e-9, abs=1e-9)


def test_the_printed_constants_are_too_small() -> None:
    """Where the printed lemma is below the maximum it is to bound, and the printed C_b below x*."""
    own = replace(
        SMALL, alpha=0.25, delta=0.5, dim=10, noise=1e-3, ridge=1e-3, theta_bound=1e-3,
        feature_bound=0.3, baseline_low=1.0, baseline_high=1.0, rounds=10**7,
    )  # fmt: skip
    bounds = theory.evaluate(own)
    assert bounds.as_printed.rounds_every_round < 0.5 * bounds.numeric.rounds
    # Theorem 2's regret is half of what its own lemma gives, less mu_h.
    printed = theory.as_printed(SMALL)
    cost = printed.regret_checkpoints - printed.linear_regret
    assert cost == pytest.approx(0.5 * SMALL.gap * printed.rounds_checkpoints)
    ratios = [
        theory.as_printed(each).rounds_threshold / theory.rounds_threshold(each)
        for each in settings(2000, seed=10)
    ]
    assert min(ratios) < 1.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("alpha", each) for each in (0.0, 1.0, -0.1, math.nan, "0.1", 1e-21)),
        *(("delta", each) for each in (0.0, 1.5, math.inf)),
        *(("dim", each) for each in (1, 0, 2.5, True)),
        *((name, 0.0) for name in ("noise", "ridge", "theta_bound", "feature_bound")),
        *((name, 1e21) for name in ("noise", "ridge", "theta_bound", "feature_bound")),
        *(("baseline_low", each) for each in (0.0, -0.2, 0.6)),
        *(("baseline_high", each) for each in (0.0, 1.1, 0.4)),
        *(("gap", each) for each in (-0.1, 1.1, None)),
        *(("rounds", each) for each in (0, 10**16, 1e6)),
        *(("checkpoint_every", each) for each in (0, -3, 2.0)),
    ],
)
def test_bad_symbols_are_named(field: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        replace(SMALL, **{field: value})  # type: ignore[arg-type]
    assert caught.value.field in (field, "baseline_low")


def test_extreme_settings_stay_finite() -> None:
    for tiny, huge in ((1e-20, 1e20), (1e20, 1e-20)):
        own = Setting(
            alpha=1e-20, delta=1e-20, dim=10**9, noise=huge, ridge=tiny, theta_bound=huge,
            feature_bound=huge, baseline_low=1e-20, baseline_high=1.0, gap=1.0, rounds=10**15,
            checkpoint_every=10**15,
        )  # fmt: skip
        json.dumps(theory.evaluate(own).json(), allow_nan=False)
