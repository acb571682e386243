"""An algorithm is data: four choices, checked to fit together."""

from __future__ import annotations

from collections.abc import KeysView
from dataclasses import asdict, dataclass
from typing import Final

from handrail.errors import InputError, nearest

__all__ = ["PART_NAMES", "Algorithm"]

PART_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "estimator": ("means", "linear"),
    "past": ("none", "arm-sums", "self-normalised", "martingale", "oracle"),
    "selection": (
        "optimistic",
        "two-step",
        "largest-lower",
        "largest-lower-literal",
        "constrained",
    ),
    "schedule": ("none", "every-round", "checkpoints"),
}


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Four choices under a name; pass it to `make_policy` in place of a catalogue name.

    Parameters
    ----------
    name : str
        What it is called in reasons, tables and saved states.
    estimator : {"means", "linear"}
        What is known about each action.
    past : {"none", "arm-sums", "self-normalised", "martingale", "oracle"}
        The lower bound on the reward of the rounds in which the baseline was not played.
        "arm-sums" needs means, "self-normalised" needs linear.
    selection : {"optimistic", "two-step", "largest-lower", "largest-lower-literal", "constrained"}
        Which action is played. "largest-lower-literal" is "largest-lower" without the
        comparison with the baseline's mean.
    schedule : {"none", "every-round", "checkpoints"}
        When the promise is checked.
    description : str, optional
        One sentence for the catalogue.

    Notes
    -----
    "none" and "optimistic" belong together: an algorithm without a past bound has no margin to
    check, one with a past bound checks it. A row also reads like a dictionary: ``dict(row)``.

    Examples
    --------
    >>> mine = Algorithm("mine", "linear", "martingale", "largest-lower", "checkpoints")
    >>> mine.past, mine["past"], mine.conservative
    ('martingale', 'martingale', True)
    """

    name: str
    estimator: str
    past: str
    selection: str
    schedule: str
    description: str = ""

    def __post_init__(self) -> None:
        """Check every part, and that the parts fit together."""
        for field, known in PART_NAMES.items():
            value = getattr(self, field)
            if value not in known:
                raise InputError(field, f"{value!r} is not known", nearest(value, known))
        if self.past == "arm-sums" and self.estimator != "means":
            raise InputError("past", "'arm-sums' needs the estimator 'means'", _LINEAR_PAST)
        if self.past == "self-normalised" and self.estimator != "linear":
            raise InputError("past", "'self-normalised' needs the estimator 'linear'", _MEANS_PAST)
        loose = {self.past == "none", self.selection == "optimistic", self.schedule == "none"}
        if len(loose) > 1:
            raise InputError(
                "past",
                f"past {self.past!r}, selection {self.selection!r} and schedule "
                f"{self.schedule!r} contradict each other",
                "an unconstrained algorithm is 'none', 'optimistic', 'none'; any other has none "
                "of the three",
            )

    @property
    def conservative(self) -> bool:
        """Whether the algorithm keeps a promise towards the baseline."""
        return self.past != "none"

    def keys(self) -> KeysView[str]:
        """Return the names of the fields, as a dictionary would."""
        return asdict(self).keys()

    def __getitem__(self, field: str) -> str:
        """Return a field by its name, as a dictionary would."""
        if field not in self.keys():
            raise KeyError(field)
        return str(getattr(self, field))


_LINEAR_PAST: Final = "for 'linear' choose 'self-normalised', 'martingale' or 'oracle'"
_MEANS_PAST: Final = "for 'means' choose 'arm-sums', 'martingale' or 'oracle'"
