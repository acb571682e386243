"""Which action is played, given bounds and margins (paper section 3).

An action other than the baseline is safe when its margin is >= 0. Ties: the lowest index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oracle.answer import Floats


def most_optimistic(uppers: Floats, candidates: Sequence[int]) -> int:
    """The lowest index among the candidates with the largest upper bound."""
    return max(candidates, key=lambda action: (uppers[action], -action))


def select(  # noqa: PLR0911
    rule: str,
    uppers: Floats,
    lowers: Floats,
    margins: Floats,
    baseline: int | None,
    interval: tuple[float, float],
    retired: Collection[int] = (),
) -> int:
    """The action played. Retired ones are out of the question.

    mu_b is known to lie in ``interval``. Where upper bounds are compared its upper end stands for
    it, where lower bounds are compared its lower end.

    ``optimistic``: the largest upper bound of all; nobody knows the baseline's mean.
    ``two-step``: the most optimistic if safe, else the baseline.
    ``largest-lower``: the most optimistic if safe, else the safe action with the largest lower
    bound if that is > mu_b, else the baseline; ``largest-lower-literal`` does not compare with
    mu_b.
    ``constrained``: the safe action with the largest upper bound if that is >= mu_b, else the
    baseline.
    For all but the first, the baseline is the most optimistic only if mu_b > every other upper.
    """
    if rule == "optimistic":
        return most_optimistic(uppers, [a for a in range(len(uppers)) if a not in retired])
    if baseline is None:
        raise ValueError("a conservative selection needs a baseline")
    lo, hi = interval
    others = [a for a in range(len(uppers)) if a != baseline and a not in retired]
    if not others:
        return baseline
    best = most_optimistic(uppers, others)
    if hi > uppers[best]:
        return baseline
    safe = [action for action in others if margins[action] >= 0]
    if not safe:
        return baseline
    if rule == "two-step":
        return best if best in safe else baseline
    if rule in ("largest-lower", "largest-lower-literal"):
        if best in safe:
            return best
        careful = max(safe, key=lambda action: (lowers[action], -action))
        if rule == "largest-lower-literal" or lowers[careful] > lo:
            return careful
        return baseline
    if rule == "constrained":
        choice = most_optimistic(uppers, safe)
        return choice if uppers[choice] >= hi else baseline
    raise ValueError(f"unknown selection {rule!r}")


def event(
    action: int, uppers: Floats, baseline: int | None, rule: str, retired: Collection[int] = ()
) -> str:
    """E1, E2 or E3: the most optimistic action, another safe one, the baseline."""
    if action == baseline:
        return "baseline"
    if rule == "optimistic":
        return "optimistic"
    others = [other for other in range(len(uppers)) if other != baseline and other not in retired]
    return "optimistic" if action == most_optimistic(uppers, others) else "safe"
