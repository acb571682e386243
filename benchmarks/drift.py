"""Rounding of the linear algorithms over fixed arms: how far m, G and y drift from fresh ones.

The fast engine plays a run. Its actions are then taken in again, streak by streak, by the same
estimator and rules of renewal (`handrail.estimators.contest`, `handrail.simulation.standing`), and
round by round, for fewer rounds, by the plain path's (`handrail.estimators.fixed`). At some
rounds before a rebuild, which comes every 2^16 rewards at least, and at the end, what was carried
along is compared with what counts and sums give in 80-bit arithmetic.

Errors are relative: of G_aa to itself, of m and y to the largest of all arms. The largest of a run
is reported, as shipped and without rebuilds, and that of a rebuild itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.measure import Row
from benchmarks.table import table
from handrail.compiled import compiled
from handrail.conservative.past import NONE
from handrail.counter import children, root
from handrail.environments.problem import FixedProblem
from handrail.environments.rewards import REWARDS, draw
from handrail.estimators.contest import (
    CROSS,
    CROSSES,
    MEAN,
    MEANS,
    MOST,
    TURNS,
    WEIGHTS,
    add_streak,
    outsider_square,
    set_base,
    spread,
    spread_squares,
)
from handrail.estimators.contexts import lanes
from handrail.estimators.fixed import learn_fixed, play_fixed, rebuild_fixed, worn
from handrail.policies.fixed import REBUILD_EVERY
from handrail.records import LEDGER, Floats, Ints, Record, new_record
from handrail.simulation.blocks import entry
from handrail.simulation.entry import Entry
from handrail.simulation.experiment import Contender, Experiment
from handrail.simulation.standing import (
    CLOSED,
    FLOORS,
    SMALL_ROWS,
    STANDING,
    WIDE_ROWS,
    join,
    open_contest,
    renew,
)

__all__ = ["rows"]

FAST: Final = 10_000_000
PLAIN: Final = 1_000_000
SHAPES: Final = ((30, 100), (40, 35))
NAMES: Final = ("LinUCB", "CLUCB2")
LOOKS: Final = 8
"""Rebuilds, at most, before which a run is looked at."""


@dataclass(frozen=True)
class Run:
    """A run to take in: `handrail.simulation.arms.run_arms` says what most of it is."""

    rules: Record
    ledger: Record
    standing: Record
    means: Floats
    without: int
    """The arm that is not learned about, or -1."""
    kind: int
    noise: float
    keys: Any
    actions: Ints
    features: Floats
    plays: Ints
    sums: Floats


@compiled
def _carry_plain(
    ledger_: Record,
    means: Floats,
    without: int,
    kind: int,
    noise: float,
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    actions: Ints,
    plays: Ints,
    sums: Floats,
    mean: Floats,
    gram: Floats,
    cross: Floats,
    floors: Floats,
    rebuilds: bool,
    now: int,
) -> int:
    """Take in rounds until a rebuild is due; return how many there were by then."""
    ledger = ledger_[0]
    while now < actions.size:
        arm = actions[now]
        now += 1
        if arm != without:
            reward = draw(kind, means[arm], noise, keys[arm], plays[arm])
            play_fixed(gram, plays, cross, arm)
            sums[arm] += reward
            learn_fixed(ledger, mean, gram, cross, arm, reward)
            if ledger.rows % REBUILD_EVERY == 0 or (rebuilds and worn(gram, floors)):
                break
    return now


@compiled
def _carry_fast(
    rules_: Record,
    ledger_: Record,
    standing_: Record,
    means: Floats,
    without: int,
    kind: int,
    noise: float,
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    actions: Ints,
    plays: Ints,
    sums: Floats,
    gram: Floats,
    wide: Floats,
    small: Floats,
    members: Ints,
    rebuilds: bool,
    now: int,
) -> int:
    """Take in streaks, as the fast engine does, until a rebuild is due; return the rounds."""
    rules = rules_[0]
    ledger = ledger_[0]
    standing = standing_[0]
    row = np.zeros(2 * MOST)
    while now < actions.size:
        arm = actions[now]
        if arm == without:
            now += 1
            continue
        member = -1
        for other in range(standing.members):
            if members[other] == arm:
                member = other
        if member < 0:
            if standing.members == MOST:
                renew(rules, standing, gram, wide, small, members, plays, means)
            square = outsider_square(gram, wide, small, members, standing.members, arm)
            member = join(standing, gram, wide, small, members, arm, square)
        own, before, cross = small[member, member], small[MEANS, member], small[CROSSES, member]
        total = 0.0
        count = 0
        while now < actions.size and actions[now] == arm:
            total += draw(kind, means[arm], noise, keys[arm], plays[arm] + count)
            count += 1
            now += 1
            if (ledger.rows + count) % REBUILD_EVERY == 0:
                break
        gain = 1.0 / (1.0 + count * own)
        x = (total - count * before) * gain
        q = count * gain * (1.0 - cross)
        add_streak(small, row, standing.members, member, count * gain, x, q)
        plays[arm] += count
        sums[arm] += total
        ledger.rows += count
        if small[member, member] < small[FLOORS, member]:
            renew(rules, standing, gram, wide, small, members, plays, means)
        if ledger.rows % REBUILD_EVERY == 0 or (rebuilds and standing.worn == 1):
            break
    return now


def _fresh(run: Run, mean: Floats, gram: Floats, cross: Floats, floors: Floats) -> None:
    ridge = float(run.rules["ridge"][0])
    rebuild_fixed(run.features, ridge, run.plays, run.plays, run.sums, mean, gram, cross, floors)


class Plain:
    """The plain path's estimator."""

    def __init__(self, run: Run) -> None:
        arms = run.means.size
        self.run = run
        self.mean, self.cross, self.floors = np.zeros((3, arms))
        self.gram = np.zeros((arms, arms))
        self.rebuild()

    def rebuild(self) -> None:
        """Compute everything afresh."""
        _fresh(self.run, self.mean, self.gram, self.cross, self.floors)

    def carry(self, now: int, rebuilds: bool) -> int:
        """Go on to the next rebuild or the end; nobody sees numbers that are worn."""
        run = self.run
        learned: list[Any] = [run.plays, run.sums, self.mean, self.gram, self.cross, self.floors]
        how: list[Any] = [run.means, run.without, run.kind, run.noise, run.keys, run.actions]
        given: list[Any] = [run.ledger, *how, *learned, rebuilds, now]
        now = _carry_plain(*given)
        if rebuilds and worn(self.gram, self.floors):
            self.rebuild()
        return now

    def numbers(self) -> tuple[Floats, Floats, Floats]:
        """Return G_aa, m and y."""
        return np.diag(self.gram), self.mean, self.cross


class Fast:
    """The fast engine's estimator."""

    def __init__(self, run: Run) -> None:
        arms = run.means.size
        self.run = run
        self.gram = np.zeros((arms, lanes(arms)))
        self.wide = np.zeros((WIDE_ROWS + 3, lanes(arms)))
        self.small = np.zeros((SMALL_ROWS, 2 * MOST))
        self.members = np.zeros(MOST, np.int64)
        self.wide[CLOSED, arms:] = -math.inf
        if run.without >= 0:
            self.wide[CLOSED, run.without] = -math.inf
        self.rebuild()

    def rebuild(self) -> None:
        """Compute everything afresh."""
        run = self.run
        arms = run.means.size
        mean, cross, floors = np.zeros((3, arms))
        gram = np.zeros((arms, arms))
        _fresh(run, mean, gram, cross, floors)
        set_base(self.gram, self.wide, mean, gram, cross, run.without)
        open_contest(run.rules[0], run.standing[0], self.wide, run.plays, run.means)

    def carry(self, now: int, rebuilds: bool) -> int:
        """Go on to the next rebuild or the end; nobody sees numbers that are worn."""
        run = self.run
        state: list[Any] = [run.rules, run.ledger, run.standing]
        how: list[Any] = [run.means, run.without, run.kind, run.noise, run.keys, run.actions]
        learned: list[Any] = [run.plays, run.sums, self.gram, self.wide, self.small, self.members]
        given: list[Any] = [*state, *how, *learned, rebuilds, now]
        now = _carry_fast(*given)
        if rebuilds and run.standing["worn"][0] == 1:
            self.rebuild()
        return now

    def numbers(self) -> tuple[Floats, Floats, Floats]:
        """Return G_aa, m and y."""
        size = int(self.run.standing["members"][0])
        gram, wide, small, members = self.gram, self.wide, self.small, self.members
        spread(gram, wide, small, members, size, MEAN, WEIGHTS, WIDE_ROWS)
        spread(gram, wide, small, members, size, CROSS, TURNS, WIDE_ROWS + 1)
        spread_squares(gram, wide, small, members, size, WIDE_ROWS + 2)
        mean, cross, squares = wide[WIDE_ROWS:, : self.run.means.size]
        return squares, mean, cross


def _exact(run: Run) -> tuple[Any, Any, Any]:
    """Return G_aa, m and y by Cholesky's decomposition in 80-bit arithmetic."""
    features = run.features.astype(np.longdouble)
    plays, sums = run.plays.astype(np.longdouble), run.sums.astype(np.longdouble)
    dim = features.shape[1]
    left = np.longdouble(run.rules["ridge"][0]) * np.eye(dim, dtype=np.longdouble)
    left += (features.T * plays) @ features
    along = features.T.copy()
    for i in range(dim):
        left[i, i] = np.sqrt(left[i, i] - left[i, :i] @ left[i, :i])
        left[i + 1 :, i] = (left[i + 1 :, i] - left[i + 1 :, :i] @ left[i, :i]) / left[i, i]
        along[i] = (along[i] - left[i, :i] @ along[:i]) / left[i, i]
    gram = along.T @ along
    return np.diag(gram), gram @ sums, gram @ plays


def _errors(run: Run, numbers: tuple[Any, Any, Any], exact: tuple[Any, Any, Any]) -> Floats:
    """Return the largest relative errors of G_aa, m and y."""
    kept = np.arange(run.means.size) != run.without
    (gram, mean, cross), (gram_, mean_, cross_) = numbers, exact
    # An arm without features is known exactly.
    found = [np.max((abs(gram - gram_) / np.where(gram_ > 0.0, gram_, 1.0))[kept])]
    for carried, true in ((mean, mean_), (cross, cross_)):
        found.append(np.max(abs(carried - true)[kept]) / np.max(abs(true)))
    return np.array(found, np.float64)


def _drift(of: type[Plain | Fast], run: Run, rebuilds: bool) -> tuple[Floats, Floats]:
    """Return the largest errors of what a run carries along, and of rebuilds."""
    estimator = of(run)
    carried, rebuilt = np.zeros(3), np.zeros(3)
    looks = {1 << k for k in range(LOOKS)}
    now = 0
    while now < run.actions.size:
        now = estimator.carry(now, rebuilds)
        due, more = divmod(int(run.ledger["rows"][0]), REBUILD_EVERY)
        if (due in looks and more == 0) or now == run.actions.size:
            looks.discard(due)
            exact = _exact(run)
            carried = np.maximum(carried, _errors(run, estimator.numbers(), exact))
            fresh = Plain(run).numbers()
            rebuilt = np.maximum(rebuilt, _errors(run, fresh, exact))
        if rebuilds and more == 0:
            estimator.rebuild()
    return carried, rebuilt


def _new_run(played: Entry, actions: Ints) -> Run:
    problem = played.problem
    assert isinstance(problem, FixedProblem)
    arms = problem.means.size
    return Run(
        rules=played.rules,
        ledger=new_record(LEDGER),
        standing=new_record(STANDING),
        means=problem.means,
        without=problem.baseline if played.rules["past"][0] != NONE else -1,
        kind=REWARDS[problem.rewards],
        noise=problem.noise,
        keys=children(root(played.seed, 3, played.index, 0), arms),
        actions=actions,
        features=problem.rows(),
        plays=np.zeros(arms, np.int64),
        sums=np.zeros(arms),
    )


def _row(group: str, name: str, errors: Floats) -> Row:
    note = ", ".join(f"{of} {error:.1e}" for of, error in zip("Gmy", errors, strict=True))
    return Row(group, name, float(errors.max()), "", note=note)


def rows() -> list[Row]:
    """Measure."""
    found = []
    for arms, dim in SHAPES:
        group = f"drift: linear K={arms}, d={dim}: largest relative error of G_aa, m, y"
        parameters = {"arms": arms, "dim": dim}
        for name in NAMES:
            contenders = (Contender(name),)
            experiment = Experiment("linear", parameters, contenders, FAST, 1, 1, 0, points=1)
            played = entry(experiment, contenders[0], 0)
            _, _, actions = played.play(0, trace=True)
            engines: list[tuple[str, type[Plain | Fast], int]] = [
                ("fast", Fast, FAST),
                ("plain", Plain, PLAIN),
            ]
            for engine, of, rounds in engines:
                for rebuilds in (True, False):
                    carried, fresh = _drift(of, _new_run(played, actions[:rounds]), rebuilds)
                    how = "as shipped" if rebuilds else "never rebuilt"
                    found.append(_row(group, f"{name}, {engine}, n={rounds:,}, {how}", carried))
                found.append(_row(group, f"{name}, a rebuild itself, n={rounds:,}", fresh))
    return found


if __name__ == "__main__":
    print(table(rows()))
