"""Evidence on how often a safe action other than the most optimistic is played."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from handrail.paper.bootstrap import bootstrap
from handrail.paper.claims import Evidence, Part
from handrail.paper.judge import matches, same_size
from handrail.paper.numbers import per_run
from handrail.paper.scale import Scale
from handrail.paper.settings import LINEAR_FAMILY
from handrail.paper.words import percent

__all__ = ["PAPER_SD", "PAPER_SHARE", "e2_share"]

PAPER_SHARE: Final = 0.387
PAPER_SD: Final = 0.09


def e2_share(runs: Any, scale: Scale) -> Evidence:
    """Return the evidence on `e2-share`.

    Parameters
    ----------
    runs : pyarrow.Table
        Of figure `e2-share`.
    scale : Scale
        What was run.

    Returns
    -------
    Evidence
        The mean over models for CLUCB2, which is judged, and CLUCB-S.
    """
    judged = same_size(scale, "e2_share", models=False)
    parts: list[Part] = []
    texts: list[str] = []
    for name in (LINEAR_FAMILY.new, LINEAR_FAMILY.selection):
        shares = per_run(runs, "e2", algorithm=name)
        found = bootstrap([shares], lambda drawn: drawn[0].mean(axis=1))
        models = shares.mean(axis=1)
        spread = float(models.std(ddof=1)) if models.size > 1 else 0.0
        holds = matches(found, PAPER_SHARE) if judged else None
        parts.append(
            Part(
                f"{name}, mean over models",
                found,
                "38.7 % ± 9 %",
                holds,
                counts=not parts,
                scale=not judged,
            )
        )
        inside = int(np.sum(np.abs(models - PAPER_SHARE) <= PAPER_SD))
        texts.append(
            f"{name} {percent(float(models.mean()))} ± {percent(spread)} "
            f"({inside} of {models.size} models within 38.7 % ± 9 %)"
        )
    why = (
        f"Mean ± standard deviation over models: {'; '.join(texts)}. The paper does not say which "
        "algorithm it counted; CLUCB2, which it is about, is judged."
    )
    return Evidence("e2-share", "e2-share", tuple(parts), why)
