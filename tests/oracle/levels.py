"""How delta is spent (docs/algorithms.md, "Spending delta").

Events that safety needs:

- ``estimator``: the arms' bounds or the ellipsoid, unless there is neither, or nothing rests on
  them because nothing is promised, or the past is known and no interval is cut: then they have all
  of delta, unshared;
- ``martingale``: where the past is, or may be, a sum of rewards;
- ``baseline``: a guard's interval of a mean that it learns (elsewhere that is one of the arms');
- ``schedule``: random gaps are not shorter than thought.

The baseline's given interval may take a part of delta. With ``union`` accounting the events in use
share the rest; with ``paper`` accounting each has the whole of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def events(
    past: str, estimator: str, *, learned: bool, random_gaps: bool, cut: bool = False
) -> list[str]:
    """The events in use; ``cut``: the baseline's interval is cut to its arm's."""
    unused = estimator == "none" or past == "none" or (past == "oracle" and not cut)
    used = [] if unused else ["estimator"]
    if past in ("martingale", "larger"):
        used.append("martingale")
    if estimator == "none" and learned:
        used.append("baseline")
    if random_gaps:
        used.append("schedule")
    return used


def levels(
    used: Sequence[str],
    delta: float,
    accounting: str,
    weights: Mapping[str, float] | None,
    baseline_delta: float = 0.0,
) -> dict[str, float]:
    """The level of each event in use, and of the estimator."""
    left = delta - baseline_delta
    if accounting == "paper":
        return {"estimator": left, **dict.fromkeys(used, left)}
    if accounting != "union":
        raise ValueError(f"unknown accounting {accounting!r}")
    share = {event: 1.0 if weights is None else float(weights[event]) for event in used}
    total = sum(share.values())
    return {"estimator": left, **{event: left * share[event] / total for event in used}}
