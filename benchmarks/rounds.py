"""Simulated rounds over arms that stay the same, at the settings of the paper's figures."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks.fields import Field, compare
from benchmarks.measure import Row
from benchmarks.references import draw_seconds, rank_one_seconds
from handrail.paper.experiments import bernoulli, linear
from handrail.paper.scale import PAPER, Size, checkpoint_gaps
from handrail.paper.settings import (
    LINEAR,
    LINEAR_FAMILY,
    MEANS_FAMILY,
    checkpointed,
    contenders,
)

PROBLEMS = 6
"""That are counted; one more comes before them."""
GAPS = 5
PLAIN = 200_000
"""Rounds where no shortcut is taken."""
MEAN = "mean of the seven"


def _size(of: Size, runs: int | None = None) -> Size:
    """Return the size of a figure with fewer problems, and fewer runs where it is not judged."""
    return Size(PROBLEMS + 1, of.runs if runs is None else runs, of.rounds)


def _bernoulli() -> list[Row]:
    seven, points, full = contenders(MEANS_FAMILY), PAPER.points, PAPER.mab
    played = bernoulli(seven, _size(full), 0, points)
    few = Size(PROBLEMS + 1, 1, PLAIN)
    short = PAPER.checkpoint_mab
    gaps = checkpointed("CUCB2T", checkpoint_gaps(short.rounds, GAPS))
    return compare(
        f"simulated rounds: bernoulli K={played.parameters['arms']}, n={full.rounds:,} (mab)",
        "Generator.random()",
        draw_seconds,
        [
            Field(MEAN, played, limit=2.0, aim=1.0, each=True),
            Field(
                f"{MEAN}, engine plain, n={PLAIN:,}",
                replace(bernoulli(seven, few, 0, points), engine="plain"),
            ),
            Field(
                f"{MEAN}, width ucb1, n={PLAIN:,}",
                bernoulli(seven, few, 0, points, width="ucb1"),
            ),
            Field(
                f"CUCB2T, mean of {len(gaps)} gaps, n={short.rounds:,}",
                bernoulli(gaps, _size(short), 0, points),
            ),
        ],
    )


def _linear() -> list[Row]:
    seven, points, full = contenders(LINEAR_FAMILY), PAPER.points, PAPER.linear
    played = linear(seven, _size(full), 0, points)
    arms, dim = played.parameters["arms"], played.parameters["dim"]
    short = PAPER.checkpoint_linear
    gaps = checkpointed("CLUCB2T", checkpoint_gaps(short.rounds, GAPS))
    return compare(
        f"simulated rounds: linear K={arms} d={dim}, n={full.rounds:,} (linear)",
        f"{arms} x {arms} rank-one update",
        partial(rank_one_seconds, arms, dim, LINEAR["ridge"]),
        [
            Field(MEAN, played, limit=1.0, aim=0.5, each=True),
            Field(
                f"{MEAN}, engine plain",
                replace(linear(seven, _size(full, 2), 0, points), engine="plain"),
            ),
            Field(
                f"CLUCB2T, mean of {len(gaps)} gaps, n={short.rounds:,}",
                linear(gaps, _size(short, 10), 0, points),
            ),
        ],
    )


def rows() -> list[Row]:
    """Measure."""
    return [*_bernoulli(), *_linear()]
