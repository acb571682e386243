"""Runs of one contender on one problem: which kernel plays them, and with what arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from handrail.bounds.ellipsoid import PAPER
from handrail.conservative.past import MARTINGALE
from handrail.counter import children, root
from handrail.environments.problem import ContextProblem, FixedProblem, Problem
from handrail.environments.rewards import REWARDS
from handrail.estimators.fixed import rebuild_fixed
from handrail.policies.algorithm import Algorithm
from handrail.policies.contexts import ROOM, ContextModel
from handrail.records import LEDGER, RULES, Floats, Ints, Record, new_record
from handrail.simulation.arms import run_arms, tabulate
from handrail.simulation.contest import run_fixed
from handrail.simulation.contexts import load_rounds, run_contexts
from handrail.simulation.meter import new_meter
from handrail.simulation.plain import run_arms_plain, run_fixed_plain
from handrail.simulation.radii import tabulate_radii
from handrail.simulation.standing import STANDING
from handrail.simulation.stop import Interrupted, Stop
from handrail.vectors import aligned, padded

__all__ = ["Entry"]

_STREAMS: Final = 3
"""The streams that rewards are drawn from, within those of a seed."""
_PORTION: Final = 1 << 16
"""Numbers of features in one portion of contexts: half a megabyte, which stays in the cache."""
_LONGEST_TABLE: Final = 1 << 20
"""Widths that are tabulated: 8 MB. Those that longer runs need besides are computed each time."""


@dataclass(frozen=True)
class Entry:
    """A contender on a problem, ready to run."""

    algorithm: Algorithm
    problem: Problem
    rules: Record
    alpha: float
    """What the budget is measured with, also for algorithms that know no alpha."""
    engine: str
    seed: int
    index: int
    grid: Ints

    @property
    def kind(self) -> str:
        """The kernel that runs it, in which rounds cost about the same."""
        if isinstance(self.problem, ContextProblem):
            return "contexts"
        kind = "fixed" if self.algorithm.estimator == "linear" else "arms"
        return kind if self.engine == "fast" else f"{kind}-plain"

    @cached_property
    def _gram(self) -> Floats:
        """Phi Phi' / lambda."""
        assert isinstance(self.problem, FixedProblem)
        features = self.problem.rows()
        arms = len(features)
        played, none, gram = np.zeros(arms, np.int64), np.zeros(arms), np.zeros((arms, arms))
        ridge = float(self.rules["ridge"][0])
        rebuild_fixed(features, ridge, played, played, none, none.copy(), gram, none.copy())
        return gram

    def play(
        self, run: int, trace: bool = False, stop: Stop | None = None
    ) -> tuple[Floats, Record, Ints]:
        """Play one run.

        Parameters
        ----------
        run : int
            Its number within the problem.
        trace : bool, default=False
            Whether every action is kept.
        stop : Stop, optional
            Looked at every now and then; once it is set, `Interrupted` is raised.

        Returns
        -------
        curve : numpy.ndarray
            Regret, budget and the counts of E1 and E2 at the recorded rounds.
        meter : numpy.ndarray
            What was measured over all rounds.
        actions : numpy.ndarray
            The action of every round, or nothing.
        """
        problem = self.problem
        actions = problem.means.size if isinstance(problem, FixedProblem) else problem.actions
        keys = children(root(self.seed, _STREAMS, self.index, run), actions)
        curve = np.empty((self.grid.size, 4))
        meter = new_meter(self.alpha, int(self.rules["checkpoint_every"][0]))
        ledger = new_record(LEDGER)
        played = np.empty(int(self.grid[-1]) if trace else 0, np.int64)
        stop = stop or Stop()
        how = [REWARDS[problem.rewards], problem.noise, keys, self.grid, curve, played]
        state: list[Any] = [self.rules, ledger, meter]
        if isinstance(problem, ContextProblem):
            _run_contexts(state, problem, run, how, stop)
            return curve, meter, played
        given = [*state, problem.means, problem.baseline, *how, stop.flag]
        rounds = int(self.grid[-1])
        if self.kind == "fixed":
            given += [problem.rows(), self._gram, *_radii(self.rules.tobytes(), rounds)]
            given += [new_record(STANDING)]
            run_fixed(*given)
        elif self.kind == "fixed-plain":
            given += [problem.rows()]
            run_fixed_plain(*given)
        elif self.kind == "arms":
            given += _tables(self.rules.tobytes(), rounds)
            run_arms(*given)
        else:
            run_arms_plain(*given)
        if stop.is_set():
            raise Interrupted
        return curve, meter, played


def _run_contexts(
    state: list[Any], problem: ContextProblem, run: int, how: list[Any], stop: Stop
) -> None:
    model = ContextModel(state[0])
    learned = [model.design, model.rows, model.inverse, model.vectors]
    portion = max(1, min(_PORTION // (problem.actions * problem.dim), 1024))
    rounds = int(how[3][-1])
    tables = _radii(state[0].tobytes(), rounds)
    room = aligned(ROOM, padded(problem.actions))
    for start in range(0, rounds, portion):
        if stop.is_set():
            raise Interrupted
        features, means, baselines = problem.bring(run, start, min(start + portion, rounds))
        columns = aligned(len(features), problem.dim, padded(problem.actions))
        best = np.empty(len(features))
        load_rounds(features, means, problem.feature_bound, columns, best)
        given = [*state, columns, means, best, baselines, *how, *tables, room, *learned]
        run_contexts(*given)


@lru_cache(maxsize=8)
def _tables(rules: bytes, rounds: int) -> tuple[Floats, Floats, int]:
    """Return the tables of widths and boundaries that an agreement leads to."""
    agreed = np.frombuffer(rules, RULES).copy()
    widths = np.zeros(_table_size(rounds))
    boundaries = np.zeros(_table_size(rounds) if agreed["past"][0] == MARTINGALE else 0)
    settled = tabulate(agreed, widths, boundaries)
    return widths, boundaries, settled


@lru_cache(maxsize=8)
def _radii(rules: bytes, rounds: int) -> tuple[Floats, Floats]:
    """Return the tables of radii and boundaries that an agreement leads to."""
    agreed = np.frombuffer(rules, RULES).copy()
    radii = np.zeros(_table_size(rounds) if agreed["width"][0] == PAPER else 0)
    boundaries = np.zeros(_table_size(rounds) if agreed["past"][0] == MARTINGALE else 0)
    tabulate_radii(agreed, radii, boundaries)
    return radii, boundaries


def _table_size(rounds: int) -> int:
    return min(rounds + 1, _LONGEST_TABLE)
