"""Runs of one contender on one problem: which kernel plays them, and with what arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from handrail.bounds.arm import KL
from handrail.bounds.cumulative import BERNSTEIN
from handrail.bounds.ellipsoid import INTERSECTION, PAPER
from handrail.conservative.baseline import GIVEN
from handrail.conservative.past import LARGER, MARTINGALE
from handrail.conservative.schedule import REPORTED
from handrail.counter import children, root
from handrail.environments.problem import ContextProblem, FixedProblem, Problem
from handrail.environments.rewards import REWARDS
from handrail.estimators.fixed import rebuild_fixed
from handrail.policies.algorithm import Algorithm
from handrail.policies.context_model import ContextModel
from handrail.policies.gaps import Schedule
from handrail.policies.room import ROOM
from handrail.records import LEDGER, RULES, Floats, Ints, Record, new_record
from handrail.simulation.arms import run_arms, tabulate
from handrail.simulation.contest import run_fixed
from handrail.simulation.contexts import load_rounds, run_contexts
from handrail.simulation.meter import new_meter
from handrail.simulation.plain import run_arms_plain, run_fixed_plain
from handrail.simulation.proposals import Run, propose_contexts, propose_fixed
from handrail.simulation.proposers.registry import make_proposer
from handrail.simulation.radii import tabulate_radii
from handrail.simulation.standing import STANDING
from handrail.simulation.stop import Interrupted, Stop
from handrail.vectors import aligned, padded

__all__ = ["Entry"]

_STREAMS: Final = 3
"""The streams that rewards are drawn from, within those of a seed."""
_CHECKPOINTS: Final = 5
"""The streams that gaps between checkpoints are drawn from."""
_PROPOSERS: Final = 6
"""The streams that seeds of proposers are drawn from."""
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
    below: float = 0.0
    above: float = 0.0
    """How far the interval that the policy is told of reaches from the baseline's mean."""
    schedule: Schedule | None = None
    """Checkpoints that are no multiples of a number."""
    proposer: str | None = None
    """Who makes the proposals, where the algorithm makes none."""

    @property
    def kind(self) -> str:
        """The kernel that runs it, in which rounds cost about the same."""
        if self.proposer is not None:
            return "proposals"
        if isinstance(self.problem, ContextProblem):
            return "contexts"
        kind = "fixed" if self.algorithm.estimator == "linear" else "arms"
        fast = self.engine == "fast" and self._has_shortcuts
        return kind if fast else f"{kind}-plain"

    @property
    def _has_shortcuts(self) -> bool:
        """Whether the fast engine knows all the parts: those of the paper's algorithms."""
        rules = self.rules[0]
        return bool(
            rules["past"] != LARGER
            and rules["schedule"] != REPORTED
            and rules["knowledge"] == GIVEN
            and rules["learn_baseline"] == 0
            and self.below == self.above == 0.0
            and not (self.algorithm.estimator == "means" and rules["width"] == KL)
            and not (self.algorithm.estimator == "linear" and rules["width"] == INTERSECTION)
            and not (rules["past"] == MARTINGALE and rules["cumulative"] == BERNSTEIN)
        )

    def _checkpoints(self, run: int) -> tuple[Ints, Ints]:
        """Return the checkpoints of a run, and before which round each is known not to come."""
        if self.schedule is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if self.schedule.rounds is not None:
            return self.schedule.rounds, np.append(self.schedule.rounds, 0)
        assert self.schedule.law is not None
        words = (self.seed, _CHECKPOINTS, self.index, run)
        random = np.random.default_rng(np.random.SeedSequence(words))
        rounds = [0]
        assured = []
        while rounds[-1] < self.grid[-1]:
            assured.append(self.schedule.assured(len(rounds) - 1, rounds[-1]))
            rounds.append(rounds[-1] + self.schedule.law.draw(random))
        return np.array(rounds[1:], np.int64), np.array([*assured, 0], np.int64)

    @cached_property
    def _gram(self) -> Floats:
        """Phi Phi' / lambda."""
        assert isinstance(self.problem, FixedProblem)
        features = self.problem.rows()
        arms = len(features)
        played, gram = np.zeros(arms, np.int64), np.zeros((arms, arms))
        none, mean, cross, floors = np.zeros((4, arms))
        ridge = float(self.rules["ridge"][0])
        rebuild_fixed(features, ridge, played, played, none, mean, gram, cross, floors)
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
        told = (self.below, self.above, *self._checkpoints(run))
        if self.proposer is not None:
            these = Run(self.rules, ledger, meter, keys, self.grid, curve, played, *told, stop=stop)
            self._propose(self.proposer, actions, run, these)
            return curve, meter, played
        if isinstance(problem, ContextProblem):
            _run_contexts(state, problem, run, how, told, stop)
            return curve, meter, played
        given = [*state, problem.means, problem.baseline, *how, stop.flag]
        rounds = int(self.grid[-1])
        if self.kind == "fixed":
            given += [problem.rows(), self._gram, *_radii(self.rules.tobytes(), rounds)]
            given += [new_record(STANDING)]
            run_fixed(*given)
        elif self.kind == "fixed-plain":
            given += [*told, problem.rows()]
            run_fixed_plain(*given)
        elif self.kind == "arms":
            given += _tables(self.rules.tobytes(), rounds)
            run_arms(*given)
        else:
            given += told
            run_arms_plain(*given)
        if stop.is_set():
            raise Interrupted
        return curve, meter, played

    def _propose(self, name: str, actions: int, run: int, given: Run) -> None:
        """Play one run of somebody else's proposals; 32 bits are a seed to any library."""
        seed = int(root(self.seed, _PROPOSERS, self.index, run)) >> 32
        if isinstance(self.problem, ContextProblem):
            proposer = make_proposer(name, actions, self.problem.dim, seed)
            propose_contexts(proposer, self.problem, run, given)
        else:
            propose_fixed(make_proposer(name, actions, None, seed), self.problem, given)


def _run_contexts(
    state: list[Any],
    problem: ContextProblem,
    run: int,
    how: list[Any],
    told: tuple[Any, ...],
    stop: Stop,
) -> None:
    model = ContextModel(state[0])
    learned = [model.factor, model.vectors]
    portion = max(1, min(_PORTION // (problem.actions * problem.dim), 1024))
    rounds = int(how[3][-1])
    tables = _radii(state[0].tobytes(), rounds)
    room = aligned(ROOM + problem.dim, padded(problem.actions))
    for start in range(0, rounds, portion):
        if stop.is_set():
            raise Interrupted
        features, means, baselines = problem.bring(run, start, min(start + portion, rounds))
        columns = aligned(len(features), problem.dim, padded(problem.actions))
        best = np.empty(len(features))
        load_rounds(features, means, problem.feature_bound, columns, best)
        given = [*state, columns, means, best, baselines, *how, *tables, room, *learned, *told]
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
    summed = agreed["past"][0] in (MARTINGALE, LARGER) and agreed["cumulative"][0] != BERNSTEIN
    boundaries = np.zeros(_table_size(rounds) if summed else 0)
    tabulate_radii(agreed, radii, boundaries)
    return radii, boundaries


def _table_size(rounds: int) -> int:
    return min(rounds + 1, _LONGEST_TABLE)
