"""What the constraint may still gain before it is checked (paper section 4)."""

from __future__ import annotations


def slack(
    schedule: str, alpha: float, baseline_lower: float, every: int | None, time: int
) -> float:
    """alpha mu_l (c - t), c = the first of T, 2T, ... that is >= t; 0 with a check every round."""
    if schedule != "checkpoints":
        return 0.0
    if every is None:
        raise ValueError("checkpoints need checkpoint_every")
    phases = -(-time // every)  # t / T rounded up
    return alpha * baseline_lower * (phases * every - time)
