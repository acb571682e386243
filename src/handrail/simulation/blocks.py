"""The work of an experiment, divided into blocks: some runs of one contender on one problem.

A block is named by a hash of what its result depends on: handrail's code, the versions of NumPy
and Numba, the kind of machine, what the environment says of itself, and all settings. Experiments
that need the same block share it, and a run that was interrupted finds what it had finished.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import platform
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np

from handrail import checks
from handrail.environments.problem import Environment
from handrail.environments.registry import environment_names, make_environment
from handrail.errors import InputError
from handrail.simulation.crew import Task
from handrail.simulation.entry import Entry
from handrail.simulation.experiment import Contender, Experiment, plain, recorded_rounds
from handrail.simulation.moments import GROUP, combine, from_runs, pack
from handrail.simulation.prepare import budget_alpha, policy_parameters, prepare
from handrail.simulation.proposers.registry import proposer_digest
from handrail.simulation.stop import Stop

__all__ = ["Block", "blocks", "entry", "fingerprint", "groups_kept", "tasks"]

_CODE: Final = ("bounds", "conservative", "environments", "estimators", "policies", "simulation")
_LARGEST: Final = 50
"""Runs in a block where there are enough blocks to share out."""
_ENOUGH: Final = 16
_making: Final = threading.Lock()


@cache
def fingerprint() -> str:
    """Return a hash of the code, the packages and the kind of machine that results depend on."""
    home = Path(__file__).parent.parent
    digest = hashlib.sha256(f"{np.__version__} {numba.__version__} {platform.machine()}".encode())
    paths = [*home.glob("*.py"), *(path for room in _CODE for path in (home / room).rglob("*.py"))]
    for path in sorted(paths):
        digest.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Block:
    """Some runs of one contender on one problem.

    A block that is pickled takes its settings along; where it is unpickled, the environment is
    made anew, once in a process, and refused if it does not describe itself as here.

    Parameters
    ----------
    experiment : Experiment
        What it belongs to.
    environment : Environment
        The experiment's, made once.
    contender : Contender
        Who plays.
    problem : int
        The problem's number.
    first, runs : int
        The first run, a multiple of the size of a group, and how many.
    """

    experiment: Experiment
    environment: Environment
    contender: Contender
    problem: int
    first: int
    runs: int

    def compute(self, stop: Stop) -> bytes:
        """Play the runs; raise `Interrupted` when told to stop."""
        player = entry(self.experiment, self.contender, self.problem, self.environment)
        groups, measured = [], []
        for start in range(self.first, self.first + self.runs, GROUP):
            curves = []
            for run in range(start, min(start + GROUP, self.first + self.runs)):
                curve, meter, _ = player.play(run, stop=stop)
                curves.append(curve)
                measured.append(_measured(curve, meter[0]))
            groups.append(from_runs(np.array(curves)))
        # What starts with the first run is put together already: the order stays the same.
        return pack([combine(groups)] if self.first == 0 else groups, np.array(measured))

    def __reduce__(self) -> tuple[Any, ...]:
        """Send settings, not the environment: it may hold much, or what cannot be pickled."""
        contender = Contender(self.contender.algorithm, self.contender.parameters)
        alone = replace(self.experiment, contenders=(contender,), labels={})
        drawing = _digest(self.environment.describe())
        return _received, (alone, drawing, self.problem, self.first, self.runs)


def _received(experiment: Experiment, drawing: str, problem: int, first: int, runs: int) -> Block:
    """Return a block that another process sent, with an environment of this process."""
    parameters = pickle.dumps(dict(experiment.parameters))
    with _making:  # by one thread, once
        environment = _environment(experiment.environment, parameters, drawing)
    return Block(experiment, environment, experiment.contenders[0], problem, first, runs)


@lru_cache(maxsize=16)
def _environment(name: str, parameters: bytes, drawing: str) -> Environment:
    """Return an environment that draws what the sender's draws, or refuse."""
    if name not in environment_names():
        raise InputError(
            "environment",
            f"{name!r} is not known here",
            "install the package that offers it (entry point in handrail.environments) here too",
        )
    environment = make_environment(name, **pickle.loads(parameters))
    if _digest(environment.describe()) != drawing:
        raise InputError(
            "environment",
            f"{name!r} describes itself differently here: other data, or another version of it",
            "give every machine the same files and packages, and start its workers again",
        )
    return environment


def _digest(facts: Any) -> str:
    text = json.dumps(facts, sort_keys=True, default=plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _measured(curve: Any, meter: Any) -> list[float]:
    return [
        curve[-1, 0],
        meter.smallest,
        meter.violations,
        meter.smallest_at_checkpoints,
        meter.optimistic,
        meter.safe,
    ]


def entry(
    experiment: Experiment,
    contender: Contender,
    problem: int,
    environment: Environment | None = None,
) -> Entry:
    """Return a contender on a problem, ready to run.

    Parameters
    ----------
    experiment, contender
        Who plays, and how.
    problem : int
        The problem's number.
    environment : Environment, optional
        The experiment's, if it was made already.

    Returns
    -------
    Entry
        Its `play` plays a run.
    """
    if environment is None:
        environment = make_environment(experiment.environment, **experiment.parameters)
    drawn = environment.problem(experiment.seed, problem)
    grid = recorded_rounds(experiment.rounds, experiment.points)
    return prepare(experiment, contender, drawn, problem, grid)


def _block_size(experiment: Experiment, block: int | None) -> int:
    if block is not None:
        size = checks.whole("block", block)
        return (size + GROUP - 1) // GROUP * GROUP
    # Few pairs of contender and problem: small blocks, so that every core has something to do.
    pairs = len(experiment.contenders) * experiment.problems
    return _LARGEST if pairs >= _ENOUGH else GROUP


def groups_kept(experiment: Experiment) -> int:
    """Return how many groups' moments the blocks of one contender and problem keep."""
    later = max(experiment.runs - _block_size(experiment, None), 0)
    return 1 + (later + GROUP - 1) // GROUP


def blocks(experiment: Experiment, block: int | None = None) -> Iterator[tuple[str, Block]]:
    """Divide an experiment into blocks, each with its key.

    Parameters
    ----------
    experiment : Experiment
        What is to be done.
    block : int, optional
        Runs in a block, rounded up to whole groups.

    Yields
    ------
    key : str
        Names everything the block's result depends on.
    block : Block
        The work.
    """
    size = _block_size(experiment, block)
    environment = make_environment(experiment.environment, **experiment.parameters)
    shared = {
        "code": fingerprint(),
        "environment": experiment.environment,
        "drawing": environment.describe(),
        "seed": experiment.seed,
        "rounds": experiment.rounds,
        "points": experiment.points,
        "engine": experiment.engine,
    }
    for contender in experiment.contenders:
        row = contender.row
        parts = [row.estimator, row.past, row.selection, row.schedule, dict(row.preset)]
        chosen = policy_parameters(experiment, contender)
        code = proposer_digest(chosen["proposer"]) if "proposer" in chosen else ""
        for problem in range(experiment.problems):
            for first in range(0, experiment.runs, size):
                runs = min(size, experiment.runs - first)
                facts = {
                    **shared,
                    "parts": parts,
                    "policy": chosen,
                    "proposer": code,
                    "alpha": budget_alpha(experiment, contender),
                    "block": [problem, first, runs],
                }
                yield (
                    _digest(facts),
                    Block(experiment, environment, contender, problem, first, runs),
                )


def tasks(experiments: Sequence[Experiment], block: int | None = None) -> list[Task]:
    """Return the work of some experiments, each piece once.

    Parameters
    ----------
    experiments : sequence of Experiment
        What is to be done.
    block : int, optional
        Runs in a block, rounded up to whole groups.

    Returns
    -------
    list of Task
        For `handrail.simulation.runner.run`.
    """
    work: dict[str, Task] = {}
    for experiment in experiments:
        kinds: dict[int, str] = {}
        for key, piece in blocks(experiment, block):
            owner = id(piece.contender)
            if owner not in kinds:
                # What is wrong with parameters, or with the last problem, is said before the start.
                last = experiment.problems - 1
                kinds[owner] = entry(experiment, piece.contender, last, piece.environment).kind
            rounds = piece.runs * experiment.rounds
            work.setdefault(key, Task(key, rounds, kinds[owner], piece.compute))
    return list(work.values())
