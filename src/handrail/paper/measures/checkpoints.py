"""Evidence on checkpoints: regret above the unconstrained algorithm's as they become rarer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from handrail.paper.bootstrap import Statistic, bootstrap_many
from handrail.paper.claims import Evidence, Part
from handrail.paper.judge import above, at_most
from handrail.paper.numbers import per_run, pick
from handrail.paper.words import listed, number, percent
from handrail.records import Floats, Ints

__all__ = ["differences", "gaps_of", "trend"]

_RISE: Final = 0.1
"""A curve falls if it never climbs above its lowest point so far by more than this share of its
whole fall."""


def gaps_of(runs: Any, algorithm: str) -> Ints:
    """Return the values of T in a table, smallest first."""
    gaps = pick(runs, algorithm=algorithm).column("checkpoint_every").unique()
    return np.sort(gaps.to_numpy()).astype(np.int64)


def differences(runs: Any, algorithm: str, free: str, rank: int) -> Floats:
    """Return R(2T) - R(UCB) at the horizon.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run, with the labels ``checkpoint_every`` and ``baseline_rank``.
    algorithm, free : str
        The checkpoint algorithm and the unconstrained one.
    rank : int
        The baseline's rank.

    Returns
    -------
    numpy.ndarray of shape (values of T, problems, runs)
        Each difference is between runs that see the same rewards.
    """
    runs = pick(runs, baseline_rank=rank)
    base = per_run(runs, "regret", algorithm=free)
    return np.stack(
        [
            per_run(runs, "regret", algorithm=algorithm, checkpoint_every=int(gap)) - base
            for gap in gaps_of(runs, algorithm)
        ]
    )


def _fall(start: int, stop: int) -> Statistic:
    return lambda drawn: (drawn[start] - drawn[stop]).mean(axis=1)


def _fallen_share(start: int, stop: int) -> Statistic:
    return lambda drawn: (
        (drawn[start] - drawn[stop]).mean(axis=1) / np.abs(drawn[start].mean(axis=1))
    )


def _rise(start: int, stop: int) -> Statistic:
    """Return "the largest climb above the lowest point so far, as a share of the fall"."""

    def largest(drawn: list[Floats]) -> Floats:
        means = np.stack([each.mean(axis=1) for each in drawn[start : stop + 1]])
        climb = (means - np.minimum.accumulate(means, axis=0)).max(axis=0)
        fall = means[0] - means[-1]
        return np.where(fall > 0, climb / np.where(fall > 0, fall, 1.0), 1.0)

    return largest


def _spent(runs: Any, algorithm: str, rank: int, found: Floats) -> str:
    """Say what was played at the smallest T and at the one with the most regret."""
    gaps = gaps_of(runs, algorithm)
    top = gaps[int(found.mean(axis=(1, 2)).argmax())]
    shares = [
        per_run(runs, event, algorithm=algorithm, checkpoint_every=int(gap), baseline_rank=rank)
        for gap in (gaps[0], top)
        for event in ("e2", "e3")
    ]
    e2, e3, e2_top, e3_top = (percent(float(share.mean())) for share in shares)
    return (
        f" At rank {rank} it is largest at T = {top:,}: there the slack is spent on the most "
        f"optimistic actions at the start of each phase and the baseline is played for the rest "
        f"({e3_top} of the rounds, {e3} at T = {gaps[0]:,}); without slack other safe actions are "
        f"played instead (E2: {e2} at T = {gaps[0]:,}, {e2_top} there)."
    )


def trend(figure: str, runs: Any, algorithm: str, free: str, ranks: Sequence[int]) -> Evidence:
    """Return the evidence of one figure on `checkpoints`.

    Parameters
    ----------
    figure : str
        Its name.
    runs : pyarrow.Table
        Its runs.
    algorithm, free : str
        The checkpoint algorithm and the unconstrained one.
    ranks : sequence of int
        The baselines' ranks, strongest first.

    Returns
    -------
    Evidence
        For each rank the fall from the smallest to the largest T, as a share of the difference at
        the smallest, and the largest rise on the way; then how much more regret the fall saves
        with the weakest baseline than with the strongest.
    """
    blocks = [differences(runs, algorithm, free, rank) for rank in ranks]
    count = len(blocks[0])
    samples = [each for block in blocks for each in block]
    spans = [(count * index, count * index + count - 1) for index in range(len(ranks))]
    statistics = [statistic(*span) for span in spans for statistic in (_fallen_share, _fall, _rise)]
    first, last = spans[0], spans[-1]
    found = bootstrap_many(
        samples, [*statistics, lambda drawn: _fall(*last)(drawn) - _fall(*first)(drawn)]
    )
    shares, falls, rises = found[0:-1:3], found[1:-1:3], found[2:-1:3]
    parts = [
        Part(f"baseline of rank {rank}: fall from T = 1 to T = n", share, "above 0", above(fall))
        for rank, share, fall in zip(ranks, shares, falls, strict=True)
    ]
    parts.sort(key=lambda part: part.found.measured)
    parts += [
        Part(
            f"baseline of rank {rank}: largest rise on the way, share of the fall",
            rise,
            "none",
            at_most(rise, _RISE),
        )
        for rank, rise in zip(ranks, rises, strict=True)
    ]
    parts.append(
        Part(
            f"regret the fall saves, rank {ranks[-1]} minus rank {ranks[0]}",
            found[-1],
            "above 0",
            above(found[-1]),
            percent=False,
        )
    )
    saved = listed(
        [f"{number(fall.measured)} (rank {r})" for r, fall in zip(ranks, falls, strict=True)]
    )
    worst = max(range(len(ranks)), key=lambda index: rises[index].measured)
    events = ""
    if rises[worst].measured > _RISE:
        events = _spent(runs, algorithm, ranks[worst], blocks[worst])
    why = (
        f"{figure}: from T = 1 to T = n the difference to {free} falls by {saved}; on the way it "
        f"rises by at most {percent(max(rise.measured for rise in rises))} of its fall "
        f"(up to {percent(_RISE)} is let pass).{events}"
    )
    return Evidence("checkpoints", figure, tuple(parts), why)
