"""Evidence on real ratings: half of the old regret, and checkpoints that approach LinUCB."""

from __future__ import annotations

from typing import Any

from handrail.paper.bootstrap import bootstrap_many
from handrail.paper.claims import Evidence, Part
from handrail.paper.judge import above, at_most, same_size
from handrail.paper.measures.checkpoints import gaps_of
from handrail.paper.numbers import per_run
from handrail.paper.scale import Scale
from handrail.paper.settings import LINEAR_FAMILY
from handrail.paper.words import percent

__all__ = ["jester_half"]


def jester_half(runs: Any, scale: Scale, checkpoints: str) -> Evidence:
    """Return the evidence on `jester-half`.

    Parameters
    ----------
    runs : pyarrow.Table
        Of figure `jester`.
    scale : Scale
        What was run.
    checkpoints : str
        The checkpoint algorithm.

    Returns
    -------
    Evidence
        Ratios of regret averaged over users: CLUCB2's to CLUCB's, and by how much rarer
        checkpoints shrink the distance to LinUCB.
    """
    family = LINEAR_FAMILY
    gaps = gaps_of(runs, checkpoints)
    samples = [per_run(runs, "regret", algorithm=name) for name in (family.old, family.free)]
    # T = 1 is CLUCB2: the promise at every round.
    samples.append(per_run(runs, "regret", algorithm=family.new))
    samples += [
        per_run(runs, "regret", algorithm=checkpoints, checkpoint_every=int(gap)) for gap in gaps
    ]
    ratio, gain, last, *distances = bootstrap_many(
        samples,
        [
            lambda drawn: drawn[2].mean(axis=1) / drawn[0].mean(axis=1),
            lambda drawn: (drawn[2] - drawn[-1]).mean(axis=1) / drawn[0].mean(axis=1),
            lambda drawn: (drawn[3] - drawn[-1]).mean(axis=1) / drawn[0].mean(axis=1),
            *(
                lambda drawn, i=index: (drawn[i] - drawn[1]).mean(axis=1) / drawn[0].mean(axis=1)
                for index in range(2, len(samples))
            ),
        ],
    )
    judged = same_size(scale, "jester", models=False)
    rounds = scale.jester.rounds
    sparse, dense = percent(gaps[-1] / rounds), percent(gaps[0] / rounds)
    numbers = (
        ("CLUCB2's regret as a share of CLUCB's", ratio, "below half", at_most(ratio, 0.5)),
        (
            f"CLUCB2 minus CLUCB2T at {sparse} of n, share of CLUCB's regret",
            gain,
            "above 0",
            above(gain),
        ),
        (
            f"CLUCB2T at {dense} minus at {sparse} of n, share of CLUCB's regret",
            last,
            "above 0",
            above(last),
        ),
    )
    parts = tuple(
        Part(name, interval, paper, verdict if judged else None, scale=not judged)
        for name, interval, paper, verdict in numbers
    )
    steps = ", ".join(
        f"{percent(each.measured)} ({label})"
        for each, label in zip(
            distances,
            ["every round", *(f"T = {int(gap):,}" for gap in gaps)],
            strict=True,
        )
    )
    tail = "" if judged else f" Regret and T depend on the horizon, here n = {rounds:,}."
    why = (
        f"Over {scale.jester.problems} users; the distance to LinUCB as a share of CLUCB's regret "
        f"is {steps}.{tail}"
    )
    return Evidence("jester-half", "jester", parts, why)
