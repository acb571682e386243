"""Rounds of the simulator over contexts, against the bare widths and update.

The engine's own rounds are timed, the features of a portion brought in advance, as the references
have them; what it takes to draw and to load them is told apart. In a process of its own, with
BLAS on one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import handrail
from benchmarks.bare import contexts_blas, contexts_loop
from benchmarks.contexts import THREADS
from benchmarks.measure import Row, interleave, median, ratio, timed
from handrail.environments.problem import ContextProblem
from handrail.policies.context_model import ContextModel
from handrail.simulation import entry as entries
from handrail.simulation.blocks import entry
from handrail.simulation.contexts import load_rounds, run_contexts
from handrail.simulation.experiment import Contender, Experiment
from handrail.simulation.meter import new_meter
from handrail.vectors import aligned, padded

SIZES = {(20, 20): 4096, (30, 100): 1024}
"""Rounds by actions and dimension: one portion again and again."""
NAMES = tuple(each.name for each in handrail.algorithms() if each.estimator == "linear")
ALPHA, CHECKPOINTS = 0.1, 100
REPETITIONS = 15
_COLUMNS = 3
"""Where among what compiled rounds are given the columns come; the records come before."""
LIMIT = 1.3
LOOPS = ("BLAS", "loop in registers")
MEAN = f"mean of {len(NAMES)} algorithms"


def _player(name: str, actions: int, dim: int, rounds: int) -> entries.Entry:
    checked = handrail.algorithm(name).schedule == "checkpoints"
    contender = Contender(name, {"checkpoint_every": CHECKPOINTS} if checked else {})
    experiment = Experiment(
        environment="contextual-linear",
        parameters={"actions": actions, "dim": dim},
        contenders=(contender,),
        rounds=rounds,
        runs=1,
        problems=1,
        seed=0,
        policy={"alpha": ALPHA},
    )
    return entry(experiment, contender, 0)


_TOLD = 4
"""What comes last: the interval of the baseline's mean, and the checkpoints."""


def _capture(player: entries.Entry, size: int) -> list[Any]:
    """Return what the engine gives its compiled rounds for the first portion of a run."""
    with mock.patch.object(entries, "run_contexts") as seen:
        player.play(0)
    given = list(seen.call_args_list[0].args)
    assert len(given[_COLUMNS]) == size
    return given


def _engine(given: list[Any], alpha: float, times: int) -> float:
    """Play the portion again and again, as one run from its start."""
    model = ContextModel(given[0])
    learned = [model.factor, model.vectors]
    meter = new_meter(alpha, int(given[0]["checkpoint_every"][0]))
    told = given[-_TOLD:]
    brought = given[_COLUMNS : -len(learned) - _TOLD]
    fresh = [given[0], model.ledger, meter, *brought, *learned, *told]
    return timed(lambda: [run_contexts(*fresh) for _ in range(times)])


def measure(actions: int, dim: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds a round of all contestants, by turn."""
    players = {name: _player(name, actions, dim, rounds) for name in NAMES}
    problem = players[NAMES[0]].problem
    assert isinstance(problem, ContextProblem)
    size = entries._PORTION // (actions * dim)
    times = rounds // size
    features, means, _ = problem.bring(0, 0, size)
    columns, best = aligned(size, dim, padded(actions)), np.empty(size)
    load = partial(load_rounds, features, means, problem.feature_bound, columns, best)
    load()
    rng = np.random.default_rng(0)
    chosen, rewards = rng.integers(0, actions, size), rng.standard_normal(size)
    work: dict[str, Callable[[], object]] = {
        LOOPS[0]: lambda: contexts_blas(features, chosen, rewards, times),
        LOOPS[1]: lambda: contexts_loop(columns, chosen, rewards, times),
        "drawing": lambda: problem.contexts(0, 0, size),
        "drawing and checks": lambda: problem.bring(0, 0, size),
        "columns": load,
    }
    sums = [contexts_blas(features, chosen, rewards, 1), contexts_loop(columns, chosen, rewards, 1)]
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-9)
    contestants: dict[str, Callable[[], float]] = {
        name: partial(timed, each) for name, each in work.items()
    }
    contestants |= {
        name: partial(_engine, _capture(each, size), each.alpha, times)
        for name, each in players.items()
    }
    seconds = interleave(contestants, REPETITIONS)
    played = {name: size * times if name in (*LOOPS, *NAMES) else size for name in contestants}
    return {name: [each / played[name] for each in taken] for name, taken in seconds.items()}


def _rows(actions: int, dim: int, seconds: dict[str, list[float]]) -> list[Row]:
    group = f"simulator, contexts K={actions} d={dim}"
    turns = [seconds[name] for name in NAMES]
    seconds[MEAN] = [sum(turn) / len(turn) for turn in zip(*turns, strict=True)]
    faster = min(LOOPS, key=lambda name: median(seconds[name]))
    plain = [name for name in seconds if name not in NAMES and name != MEAN]
    found = [Row(group, name, median(seconds[name]), "us/round") for name in plain]
    for name in (*NAMES, MEAN):
        against = ratio(seconds[name], seconds[faster])
        limit = LIMIT if name == MEAN else None
        found.append(Row(group, name, median(seconds[name]), "us/round", faster, against, limit))
    return found


def rows() -> list[Row]:
    """Measure."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.rounds_contexts"],
        env={**os.environ, **dict.fromkeys(THREADS, "1")},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)
    return [row for actions, dim, seconds in found for row in _rows(actions, dim, seconds)]


if __name__ == "__main__":
    print(json.dumps([[*size, measure(*size, rounds)] for size, rounds in SIZES.items()]))
