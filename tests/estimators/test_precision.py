"""Widths and means of long runs with steep features, against exact arithmetic.

D^2 / lambda goes up to the 1e8 that is allowed. Few rows come again and again, so that V and the
sum of r phi are counts times rows, which fractions hold exactly. Where nothing else is said, errors
are measured in widths: of ||phi||_{V^-1} relative to itself, of <theta_hat, phi> relative to
||phi||_{V^-1}. Deterministic: the false-alarm probability is 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import handrail
from benchmarks.drift import Fast, Run
from handrail.bounds.ellipsoid import ellipsoid_radius
from handrail.compiled import compiled
from handrail.counter import children, root
from handrail.environments.rewards import BERNOULLI, draw
from handrail.policies.contexts import reward_contexts
from handrail.policies.fixed import REBUILD_EVERY, reward_fixed
from handrail.policies.model import copy_model
from handrail.policies.room import FORGONE, HELD, ROOM, TOTAL
from handrail.policies.rounds import NO_TRUTH, Round
from handrail.records import Floats, Ints, Record, new_record
from handrail.simulation.contexts import load_rounds, run_contexts
from handrail.simulation.meter import new_meter
from handrail.simulation.standing import STANDING
from handrail.vectors import aligned, padded

RIDGE = 0.25
MILLION = 1 << 20
CLOSE, CLOSE_MEAN = 1e-7, 1e-5
"""The largest errors that are allowed, in widths; they are 3e-9 and 2e-6 or less in fact."""


def _rows(kind: str, steep: float, dim: int = 3) -> Floats:
    """Some rows, the longest with D^2 / lambda = steep."""
    rng = np.random.default_rng([dim, int(steep)])
    if kind == "identical":
        rows = rng.standard_normal((1, dim))
    elif kind == "low rank":  # a plane, and one row that hardly leaves it
        rows = rng.standard_normal((5, 2)) @ rng.standard_normal((2, dim))
        rows[4] += 1e-4 * rng.standard_normal(dim)
    else:
        rows = rng.standard_normal((4, dim)) * np.array([[1.0], [1.0], [1e-2], [1e-4]])
    return np.asarray(rows * math.sqrt(steep * RIDGE * 0.999) / np.linalg.norm(rows, axis=1).max())


class Exact:
    """Ridge regression in fractions."""

    def __init__(self, rows: Floats, counts: Ints, sums: Floats) -> None:
        self.rows = [[Fraction(float(x)) for x in row] for row in rows]
        self.counts = [int(each) for each in counts]
        dim = len(self.rows[0])
        self.design = [
            [
                sum((n * row[i] * row[j] for n, row in self._weighed()), Fraction(0))
                + (Fraction(RIDGE) if i == j else 0)
                for j in range(dim)
            ]
            for i in range(dim)
        ]
        earned = [Fraction(float(each)) for each in sums]
        response = [
            sum((r * row[i] for r, row in zip(earned, self.rows, strict=True)), Fraction(0))
            for i in range(dim)
        ]
        self.theta, self.log_det = self._solve(response)

    def _weighed(self) -> list[tuple[int, list[Fraction]]]:
        return list(zip(self.counts, self.rows, strict=True))

    def _solve(self, right: list[Fraction]) -> tuple[list[Fraction], float]:
        """Return V^-1 times a vector, by elimination, and log det V - log det(lambda I)."""
        dim = len(right)
        table = [[*row, value] for row, value in zip(self.design, right, strict=True)]
        log_det = 0.0
        for i in range(dim):
            log_det += math.log(table[i][i] / Fraction(RIDGE))
            for k in range(dim):
                if k != i:
                    factor = table[k][i] / table[i][i]
                    table[k] = [x - factor * y for x, y in zip(table[k], table[i], strict=True)]
        return [table[i][dim] / table[i][i] for i in range(dim)], log_det

    def summed(self, weights: list[Fraction]) -> list[Fraction]:
        """Return a weighted sum of the rows."""
        return [
            sum((w * row[i] for w, row in zip(weights, self.rows, strict=True)), Fraction(0))
            for i in range(len(self.theta))
        ]

    def known(self, vector: list[Fraction]) -> tuple[float, float]:
        """Return <theta_hat, x> and ||x||_{V^-1}."""
        solution, _ = self._solve(vector)
        square = sum((x * y for x, y in zip(vector, solution, strict=True)), Fraction(0))
        centre = sum((x * y for x, y in zip(vector, self.theta, strict=True)), Fraction(0))
        return float(centre), math.sqrt(square)


def _model(name: str | handrail.Algorithm, **given: Any) -> Any:
    common: dict[str, Any] = {"delta": 0.1, "ridge": RIDGE, "theta_bound": 1.0, "noise": 0.5}
    given = {"mean_range": (0, 1), **common, **given}
    return handrail.make_policy(name, **given)._state.model


def _radius(model: Any) -> float:
    return float(ellipsoid_radius(model.rules[0], model.ledger[0]))


def _check_bounds(model: Any, exact: Exact, phis: Floats) -> None:
    """Compare what a model says of some features, in a round of its own, with the truth."""
    assert model.ledger["log_det"][0] == pytest.approx(exact.log_det, rel=1e-7)
    beta = _radius(model)
    model = copy_model(model)
    model.decide(Round(phis, 0, 0.0, 0.0, NO_TRUTH))
    for action, phi in enumerate(phis):
        centre, width = exact.known([Fraction(float(x)) for x in phi])
        _, upper, lower = model.examined(action)
        assert (upper - lower) / (2.0 * beta) == pytest.approx(width, rel=CLOSE), phi
        assert abs((upper + lower) / 2.0 - centre) <= CLOSE_MEAN * width, phi


@compiled
def _learn_contexts(
    rules_: Record,
    ledger_: Record,
    factor: Floats,
    vectors: Floats,
    rows: Floats,
    picks: Ints,
    rewards: Floats,
    first: int,
    last: int,
) -> None:
    for i in range(first, last):
        row = rows[picks[i]]
        reward_contexts(rules_, ledger_, factor, vectors, row, False, 0.0, rewards[i])


def _drawn(rows: Floats, size: int) -> tuple[Ints, Floats]:
    """Rows in an order of their own, and rewards 0 or 1."""
    rng = np.random.default_rng(len(rows))
    picks = rng.integers(0, len(rows), size, dtype=np.int64)
    return picks, (rng.random(size) < 0.6).astype(np.float64)


def _tally(picks: Ints, rewards: Floats, rows: int) -> tuple[Ints, Floats]:
    counts = np.bincount(picks, minlength=rows).astype(np.int64)
    return counts, np.bincount(picks, rewards, minlength=rows).astype(np.float64)


@pytest.mark.parametrize("kind", ["identical", "low rank", "short ones"])
@pytest.mark.parametrize("steep", [1e4, 1e6, 9e7, 1e8])
def test_policies_over_contexts(kind: str, steep: float) -> None:
    rows = _rows(kind, steep)
    model = _model("LinUCB", dim=3, width="determinant")
    picks, rewards = _drawn(rows, MILLION)
    other = np.random.default_rng(1).standard_normal((2, 3)) * math.sqrt(steep * RIDGE) / 6.0
    first = 0
    for last in (1, 40, 5000, 1 << 18, MILLION):
        _learn_contexts(
            model.rules,
            model.ledger,
            model.factor,
            model.vectors,
            rows,
            picks,
            rewards,
            first,
            last,
        )
        first = last
        exact = Exact(rows, *_tally(picks[:last], rewards[:last], len(rows)))
        _check_bounds(model, exact, np.vstack([rows, other]))


@pytest.mark.parametrize("kind", ["identical", "low rank"])
@pytest.mark.parametrize("past", ["self-normalised", "learned"])
def test_margins_along_sums(kind: str, past: str) -> None:
    """The past along x, all that was played, and where the baseline's mean is learned.

    Then z is a difference of sums that all but cancel. Errors are measured in rewards, of which
    there are a million.
    """
    rows = _rows(kind, 1e8)
    told = {"confirm": True} if past == "self-normalised" else {"baseline_mean": "learned"}
    parts = handrail.Algorithm("mine", "linear", "self-normalised", "two-step", "every-round")
    model = _model(parts, dim=3, width="determinant", alpha=0.1, **told)
    picks, rewards = _drawn(rows, MILLION)
    state = (model.factor, model.vectors)
    _learn_contexts(model.rules, model.ledger, *state, rows, picks, rewards, 0, MILLION)
    counts, sums = _tally(picks, rewards, len(rows))
    exact = Exact(rows, counts, sums)
    played = [Fraction(int(each)) for each in counts]
    alpha = Fraction(float(model.rules["alpha"][0]))
    baselines = [0, 0]
    if past == "learned":
        # As if the first row had been the baseline's in all these rounds, held in a hundredth.
        baselines = [MILLION // 100, MILLION - MILLION // 100]
        for place, times in zip((HELD, FORGONE), baselines, strict=True):
            model.vectors[place, :3] = times * rows[0]
        model.vectors[TOTAL, :3] = counts @ rows
        played[0] += alpha * baselines[0] - (1 - alpha) * (baselines[1] + 1)
    beta = _radius(model)
    model.decide(Round(rows, 0, 0.5, 0.5, NO_TRUTH))
    for action in range(len(rows)):
        weights = list(played)
        weights[action] += past == "learned"  # where rounds may be lost, this one counts nothing
        centre, width = exact.known(exact.summed(weights))
        margin, _, _ = model.examined(action)
        # A baseline that is told is required in this round, the only one that is counted.
        required = 0.9 * 0.5 if past == "self-normalised" else 0.0
        assert margin == pytest.approx(centre - beta * width - required, abs=0.01)


@pytest.mark.parametrize("past", ["self-normalised", "martingale"])
def test_a_difference_that_cancels_keeps_its_width(past: str) -> None:
    """Over fixed arms z = phi_a - phi_b = (0, 1e-9), of which the squares of 1 leave nothing."""
    parts = handrail.Algorithm("mine", "linear", past, "two-step", "every-round")
    told: dict[str, Any] = {"features": [[1.0, 0.0], [1.0, 1e-9]], "baseline": 0}
    model = _model(parts, width="determinant", alpha=0.5, baseline_mean="learned", **told)
    model.ledger["rounds"] = model.ledger["plays"] = 1
    beta = _radius(model)
    model.decide(Round(None, 0, 0.5, 0.5, NO_TRUTH))
    nothing, something = (model.examined(action)[0] for action in (0, 1))
    assert nothing - something >= beta * 1e-9 / math.sqrt(RIDGE)


@compiled
def _earned(
    key: np.uint64, picks: Ints, first: int, rows: int, earned: Floats, counts: Ints
) -> None:
    """Add up what the simulator draws for rounds from one on, by row."""
    for i in range(rows):
        row = picks[i]
        earned[row] += draw(BERNOULLI, 0.5, 0.5, key, first + i)
        counts[row] += 1


@pytest.mark.parametrize("kind", ["identical", "low rank", "short ones"])
@pytest.mark.parametrize("steep", [1e4, 1e8])
def test_the_simulator_over_contexts(kind: str, steep: float) -> None:
    """One action whose features change, for a million rounds of the simulator's own."""
    rows = _rows(kind, steep)
    model = _model("LinUCB", dim=3, width="determinant")
    portion = 1 << 14
    picks, _ = _drawn(rows, portion)
    columns, best = aligned(portion, 3, padded(1)), np.empty(portion)
    means = np.full((portion, 1), 0.5)
    load_rounds(
        rows[picks][:, None, :], means, float(model.rules["feature_bound"][0]), columns, best
    )
    grid, curve = np.array([MILLION]), np.empty((1, 4))
    none, empty = np.zeros(0, np.int64), np.zeros(0)
    keys = children(root(7, 3, 0, 0), 1)
    room = aligned(ROOM + 3, padded(1))
    meter = new_meter(0.1, 0)
    counts, earned = np.zeros(len(rows), np.int64), np.zeros(len(rows))
    for start in range(0, MILLION, portion):
        given: list[Any] = [model.rules, model.ledger, meter, columns, means, best]
        given += [
            np.zeros(portion, np.int64),
            BERNOULLI,
            0.5,
            keys,
            grid,
            curve,
            none,
            empty,
            empty,
        ]
        given += [room, model.factor, model.vectors, 0.0, 0.0, none, none]
        run_contexts(*given)
        _earned(keys[0], picks, start, portion, earned, counts)
        if start in (0, 16 * portion, MILLION - portion):
            _check_bounds(model, Exact(rows, counts, earned), rows)
    assert int(model.ledger["rows"][0]) == MILLION


def _arms(kind: str, steep: float) -> tuple[Floats, Floats]:
    """Rows of arms that are played, and of all: of the others one is like the first of these."""
    rows = _rows(kind, steep)
    return rows, np.vstack([rows, rows[0], 0.5 * rows.mean(axis=0) + 0.1 * rows[0, ::-1]])


@compiled
def _learn_fixed(
    rules_: Record,
    ledger_: Record,
    features: Floats,
    plays: Ints,
    counts: Ints,
    sums: Floats,
    means: Floats,
    gram: Floats,
    cross: Floats,
    floors: Floats,
    picks: Ints,
    rewards: Floats,
) -> None:
    for i in range(picks.size):
        reward_fixed(
            rules_, ledger_, features, plays, counts, sums, means, gram, cross, floors,
            REBUILD_EVERY, picks[i], False, 0.0, rewards[i],
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["identical", "low rank", "short ones"])
@pytest.mark.parametrize("steep", [1e4, 1e8])
def test_policies_over_fixed_arms(kind: str, steep: float) -> None:
    rows, features = _arms(kind, steep)
    model = _model("LinUCB", features=features, width="determinant")
    picks, rewards = _drawn(rows, MILLION)
    first = 0
    for last in (1, 40, 5000, 1 << 18, MILLION - 1):
        given: list[Any] = [model.rules, model.ledger, features, model.plays, model.counts]
        given += [model.sums, model.means, model.gram, model.cross, model.floors]
        given += [picks[first:last], rewards[first:last]]
        _learn_fixed(*given)
        first = last
        counts, sums = _tally(picks[:last], rewards[:last], len(features))
        _check_bounds(model, Exact(features, counts, sums), features)


@pytest.mark.parametrize("kind", ["identical", "low rank", "short ones"])
@pytest.mark.parametrize("steep", [1e4, 1e8])
def test_the_fast_engine_over_fixed_arms(kind: str, steep: float) -> None:
    """Streaks of all lengths, taken in as the simulator does, for a million rounds."""
    rows, features = _arms(kind, steep)
    model = _model("LinUCB", features=features, width="determinant")
    arms = len(features)
    random = np.random.default_rng(2)
    picks, _ = _drawn(rows, MILLION // 4)
    actions = np.repeat(picks, random.geometric(0.2, picks.size))[: MILLION - 1]
    run = Run(
        model.rules, model.ledger, new_record(STANDING), np.full(arms, 0.5), -1, BERNOULLI, 0.5,
        children(root(7, 3, 0, 0), arms), actions, features, np.zeros(arms, np.int64),
        np.zeros(arms),
    )  # fmt: skip
    estimator = Fast(run)
    now, looked, carried = 0, 0, 0
    while now < actions.size:
        now = estimator.carry(now, True)
        if now >= 2 * looked or now == actions.size:
            looked = now
            exact = Exact(features, run.plays, run.sums)
            squares, means, crosses = estimator.numbers()
            played = exact.summed([Fraction(int(each)) for each in run.plays])
            solution, _ = exact._solve(played)
            _, length = exact.known(played)
            for arm, row in enumerate(exact.rows):
                centre, width = exact.known(row)
                cross = float(sum((x * y for x, y in zip(row, solution, strict=True)), Fraction(0)))
                assert math.sqrt(squares[arm]) == pytest.approx(width, rel=CLOSE)
                assert abs(means[arm] - centre) <= CLOSE_MEAN * width
                assert abs(crosses[arm] - cross) <= CLOSE * width * length
        if run.ledger["rows"][0] % REBUILD_EVERY == 0:
            estimator.rebuild()
        carried += 1
    assert carried < 40
