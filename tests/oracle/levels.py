"""How delta is spent (docs/algorithms.md, "Spending delta").

Events that safety needs: the arms' bounds or the ellipsoid (``estimator``) unless the past is
known, and the ``martingale`` bound where the past is a sum of rewards. With ``union`` accounting
the events in use share delta; with ``paper`` accounting each has the whole of it.
"""

from __future__ import annotations

from collections.abc import Mapping


def levels(
    past: str, delta: float, accounting: str, weights: Mapping[str, float] | None
) -> dict[str, float]:
    """The level of each event in use."""
    events = ["estimator", "martingale"] if past == "martingale" else ["estimator"]
    if accounting == "paper":
        return dict.fromkeys(events, delta)
    if accounting != "union":
        raise ValueError(f"unknown accounting {accounting!r}")
    share = {event: 1.0 if weights is None else float(weights[event]) for event in events}
    total = sum(share.values())
    return {event: delta * share[event] / total for event in events}
