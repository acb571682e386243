"""Fields of simulated algorithms: the mean cost of a round, against a reference loop.

What is timed is what a worker of the simulator does: it computes blocks, each all runs of one
algorithm on one problem, with the drawing of the problem, the tables of widths and the moments of
the curves. Every turn plays another problem, so that no block finds tables that another left.
Time is CPU time, and the reference is the fastest of all turns: others may use the machine
meanwhile, and what they do must not make a limit look met.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.measure import Row, interleave, timed
from handrail.simulation.blocks import Block, blocks
from handrail.simulation.experiment import Experiment
from handrail.simulation.stop import Stop

__all__ = ["Field", "compare"]


@dataclass(frozen=True)
class Field:
    """Algorithms of which the mean cost is a row."""

    name: str
    experiment: Experiment
    limit: float | None = None
    aim: float | None = None
    each: bool = False
    """Whether each algorithm has a row of its own, too."""


def _play(waiting: Iterator[Block]) -> float:
    """Return the CPU seconds a round of the next block."""
    block = next(waiting)
    seconds = timed(lambda: block.compute(Stop()), time.process_time)
    return seconds / (block.runs * block.experiment.rounds)


def _players(experiment: Experiment) -> dict[str, Callable[[], float]]:
    """Return one contestant a contender; a call plays the next problem."""
    queues: dict[str, list[Block]] = {}
    for _, block in blocks(experiment, experiment.runs):
        labels = [f"{key} = {value}" for key, value in block.contender.labels.items()]
        queues.setdefault(", ".join([block.contender.row.name, *labels]), []).append(block)
    return {name: partial(_play, iter(queue)) for name, queue in queues.items()}


def compare(
    group: str, name: str, reference: Callable[[], float], fields: list[Field]
) -> list[Row]:
    """Measure fields, all of the same number of problems; the first problem is not counted."""
    (problems,) = {field.experiment.problems for field in fields}
    contestants = {name: reference}
    members: dict[str, list[str]] = {}
    for field in fields:
        players = _players(field.experiment)
        members[field.name] = [f"{field.name}: {player}" for player in players]
        contestants |= zip(members[field.name], players.values(), strict=True)
    seconds = interleave(contestants, problems - 1)
    theirs = min(seconds[name])

    def row(title: str, ours: list[float], field: Field | None = None) -> Row:
        ratios = [each / theirs for each in ours]
        return Row(
            group,
            title,
            statistics.fmean(ours) * 1e9,
            "ns/round",
            name,
            statistics.fmean(ratios),
            None if field is None else field.limit,
            f"{min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} problems",
            None if field is None else field.aim,
        )

    note = f"the reference; up to {max(seconds[name]) * 1e9:.4g} ns in other turns"
    found = [Row(group, name, theirs * 1e9, "ns", note=note)]
    for field in fields:
        own = members[field.name]
        if field.each:
            found += [row(each.partition(": ")[2], seconds[each]) for each in own]
        means = [
            statistics.fmean(turn) for turn in zip(*(seconds[each] for each in own), strict=True)
        ]
        found.append(row(field.name, means, field))
    return found
