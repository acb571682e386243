"""What a policy is told of the baseline's mean, read from text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from handrail import checks
from handrail.errors import InputError

__all__ = ["KNOWN", "Knowledge", "parse_knowledge"]

_FORMS: Final = "write known, interval:BELOW,ABOVE, doubtful:CHANCE or learned"
_RIGHT: Final = (0.1, 0.0)
_WRONG: Final = (0.7, -0.6)
"""How far a doubtful interval reaches below and above the mean, if it is right and if it is not."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a policy is told of the baseline's mean.

    Parameters
    ----------
    text : str
        As it was written.
    below, above : float
        How far the interval that it is told reaches from the true mean, within [0, 1].
    learned : bool
        Whether it is told nothing and learns the mean from baseline rounds.
    doubt : float
        The probability with which the interval that it is told is wrong: far below the mean.
    """

    text: str
    below: float = 0.0
    above: float = 0.0
    learned: bool = False
    doubt: float = 0.0

    def simulated(self) -> dict[str, Any]:
        """Return it as parameters of a simulation."""
        if self.learned:
            return {"policy.baseline_mean": "learned"}
        if self.doubt:
            told = {"policy.baseline_offsets": list(_RIGHT)}
            return told | {"policy.baseline_delta": self.doubt}
        if self.below or self.above:
            return {"policy.baseline_offsets": [self.below, self.above]}
        return {}

    def offsets(self, chance: float) -> tuple[float, float] | None:
        """Return how far a doubtful interval reaches where it is wrong, by a uniform number."""
        return _WRONG if chance < self.doubt else None

    def told(self, mean: float) -> Any:
        """Return it as `baseline_mean` of a policy, where the true mean is this."""
        if self.learned:
            return "learned"
        if self.below or self.above:
            return (max(mean - self.below, 0.0), min(mean + self.above, 1.0))
        return mean


KNOWN: Final = Knowledge("known")


def parse_knowledge(text: str) -> Knowledge:
    """Read what is known of the baseline's mean.

    Parameters
    ----------
    text : str
        ``known``: the mean itself. ``interval:BELOW,ABOVE``: an interval that reaches so far below
        and above it; with ``interval:0,0.1`` the true mean is its lower end. ``doubtful:CHANCE``:
        an interval that is wrong with this probability, which is told as `baseline_delta`.
        ``learned``: nothing.

    Returns
    -------
    Knowledge
        What is known.

    Examples
    --------
    >>> parse_knowledge("interval:0,0.2").told(0.5)
    (0.5, 0.7)
    """
    kind, colon, rest = text.strip().partition(":")
    checks.one_of("baseline", kind, ("known", "interval", "doubtful", "learned"))
    if (kind in ("interval", "doubtful")) != bool(colon):
        raise InputError("baseline", f"{text!r} does not say what is known", _FORMS)
    if kind == "doubtful":
        try:
            doubt = checks.share("baseline", float(rest))
        except ValueError:
            raise InputError("baseline", f"{rest!r} is no probability", _FORMS) from None
        return Knowledge(f"doubtful:{doubt:g}", doubt=doubt)
    if kind != "interval":
        return Knowledge(kind, learned=kind == "learned")
    try:
        below, above = (float(each) for each in rest.split(","))
    except ValueError:
        raise InputError("baseline", f"{rest!r} is not two numbers", _FORMS) from None
    if not (0.0 <= below <= 1.0 and 0.0 <= above <= 1.0 and below + above > 0.0):
        raise InputError("baseline", f"{text!r} is no interval around the mean", _FORMS)
    return Knowledge(f"interval:{below:g},{above:g}", below, above)
