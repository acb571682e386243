"""An algorithm is data: four choices, checked to fit together."""

from __future__ import annotations

from collections.abc import KeysView, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from handrail.errors import InputError, nearest
from handrail.policies.frozen import freeze

__all__ = ["FIXED_ARMS", "PART_NAMES", "Algorithm"]

PART_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "estimator": ("means", "linear", "none"),
    "past": ("none", "arm-sums", "self-normalised", "martingale", "oracle", "larger"),
    "selection": (
        "optimistic",
        "two-step",
        "largest-lower",
        "largest-lower-literal",
        "constrained",
        "proposal",
    ),
    "schedule": ("none", "every-round", "checkpoints"),
}

FIXED_ARMS: Final = "fixed arms"
"""A preset of `learn_baseline`: "mean" over fixed arms, nothing over contexts."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Four choices under a name; pass it to `make_policy` in place of a catalogue name.

    Parameters
    ----------
    name : str
        What it is called in reasons, tables and saved states.
    estimator : {"means", "linear", "none"}
        What is known about each action; "none" is a guard's, which knows no action.
    past : {"none", "arm-sums", "self-normalised", "martingale", "oracle", "larger"}
        The lower bound on the reward of the rounds in which the baseline was not played.
        "arm-sums" needs means, "self-normalised" needs linear; "larger" is the larger of
        "martingale" and the one of these two that fits.
    selection : str
        Which action is played: "optimistic", "two-step", "largest-lower", "constrained";
        "largest-lower-literal", which is "largest-lower" without the comparison with the
        baseline's mean; or "proposal", which somebody else makes.
    schedule : {"none", "every-round", "checkpoints"}
        When the promise is checked.
    description : str, optional
        One sentence for the catalogue.
    preset : mapping, optional
        Parameters of `make_policy` that take these values where none are given. A pair of names is
        for rewards in a declared range, and for others.

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
    preset: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Check every part, and that the parts fit together; the preset becomes read-only."""
        object.__setattr__(self, "preset", freeze(self.preset))
        for part, known in PART_NAMES.items():
            value = getattr(self, part)
            if value not in known:
                raise InputError(part, f"{value!r} is not known", nearest(value, known))
        if self.past == "arm-sums" and self.estimator != "means":
            raise InputError("past", "'arm-sums' needs the estimator 'means'", _LINEAR_PAST)
        if self.past == "self-normalised" and self.estimator != "linear":
            raise InputError("past", "'self-normalised' needs the estimator 'linear'", _MEANS_PAST)
        if (self.estimator == "none") != (self.selection == "proposal"):
            raise InputError(
                "selection",
                f"{self.selection!r} does not go with the estimator {self.estimator!r}",
                "a guard has the estimator 'none' and the selection 'proposal'",
            )
        if self.estimator == "none" and self.past not in ("martingale", "none"):
            raise InputError("past", "a guard knows no action", "choose 'martingale'")
        open_ended = self.selection == "optimistic" or (
            self.selection == "proposal" and self.past == "none"
        )
        loose = {self.past == "none", open_ended, self.schedule == "none"}
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
        """Return the names of the fields of the catalogue, as a dictionary would."""
        return {name: name for name in asdict(self) if name != "preset"}.keys()

    def __getitem__(self, name: str) -> str:
        """Return a field by its name, as a dictionary would."""
        if name not in self.keys():
            raise KeyError(name)
        return str(getattr(self, name))


_LINEAR_PAST: Final = "for 'linear' choose 'self-normalised', 'martingale' or 'oracle'"
_MEANS_PAST: Final = "for 'means' choose 'arm-sums', 'martingale' or 'oracle'"
