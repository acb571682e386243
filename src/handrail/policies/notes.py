"""What a policy's promise rests on beyond its numbers, and what voids it, in plain sentences.

`Policy.notes` and the service show all of them; only those that void the promise warn.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from handrail.conservative.baseline import FROM_MEANS, FROM_REWARDS
from handrail.errors import NoGuaranteeWarning
from handrail.policies.algorithm import Algorithm
from handrail.policies.defaults import one_for_all, spent_on

__all__ = [
    "FOR_WHOM",
    "LINEAR",
    "UNNAMED",
    "UNNAMED_LEARNED",
    "Note",
    "promise_notes",
    "warn_of_void",
]

LINEAR: Final = (
    "The certificate rests on a linear model: if means are not linear in the features, nothing is "
    "promised."
)


UNNAMED: Final = (
    "No baseline is named: whichever action a round names as its baseline is believed to have the "
    "mean that was agreed on."
)

FOR_WHOM: Final = (
    "One mean stands for all rounds of the baseline, also for those in which it is the proposal: "
    "for whom it is proposed is believed not to matter. Where it does, tell each round's own mean, "
    "or propose policies in place of actions."
)

UNNAMED_LEARNED: Final = (
    "No baseline is named: the promise is one towards whichever action each round names."
)


class Note(NamedTuple):
    """One sentence."""

    text: str
    voids: bool = False
    """Whether it says that nothing is promised, rather than on what a promise rests."""


def promise_notes(
    algorithm: Algorithm,
    given: Mapping[str, Any],
    width: str,
    failure: float | None,
    lessons: int,
    edition: int,
) -> tuple[Note, ...]:
    """Return the notes of a policy with these parameters, resolved."""
    if not algorithm.conservative:
        return ()
    notes = []
    spent = spent_on(algorithm, given)
    if failure is None:
        notes.append(
            Note(
                f"width {width!r} has no proved level: {algorithm.name} makes no promise with it; "
                "use 'wu' or 'mixture' where the promise matters",
                voids=True,
            )
        )
    if algorithm.estimator == "linear" and "estimator" in spent:
        notes.append(Note(LINEAR))
        if lessons == FROM_MEANS:
            notes.append(
                Note(
                    "Baseline rounds teach the model the baseline's known mean, which has to be "
                    "linear in its features like every other; with learn_baseline false they do "
                    "not."
                )
            )
            if given["dim"] is not None and given["baseline_mean"] is None:
                notes.append(
                    Note(
                        "A mean that is told with a round is learned as that of its context: an "
                        "average over contexts is not, and would break the promise; with "
                        "learn_baseline false, the default, none is learned."
                    )
                )
    told = given["baseline_mean"] is not None
    if failure is not None and failure > float(given["delta"]) * (1.0 + 1e-9):
        notes.append(
            Note(
                f"accounting {given['accounting']!r} spends {failure:.3g} in all, more than delta: "
                "the promise may fail with that probability; 'union' keeps to delta."
            )
        )
    if algorithm.estimator == "none" and told:
        notes.append(Note(FOR_WHOM))
    if told and given["baseline"] is None:
        # A guard learns one mean, a linear model that of the features of whichever is named.
        modelled = isinstance(given["baseline_mean"], str) and algorithm.estimator == "linear"
        notes.append(Note(UNNAMED_LEARNED if modelled else UNNAMED))
    if one_for_all(given) and lessons != FROM_REWARDS:
        notes.append(
            Note(
                "One number or interval is given for the baseline's mean in every context: in a "
                "context whose mean is another, rounds of the baseline are credited with what they "
                "did not earn; tell each round's own mean."
            )
        )
    return (*notes, *_missing(algorithm, given, bool(spent), edition), *_lost(given, edition))


def _missing(
    algorithm: Algorithm, given: Mapping[str, Any], spends: bool, edition: int
) -> list[Note]:
    """Say what is believed of rewards that never come, where no default takes their place."""
    window, default = given["window"], given["default_reward"]
    if not spends or (window is not None and default is not None):
        return []
    if default is not None:
        return [
            Note(
                "default_reward without window: the default counts only where a "
                "decision is given up, and rewards that come are used at once, so "
                f"{algorithm.name} keeps its promise only if neither whether a reward comes nor "
                "when has to do with the reward; declare a window too",
                voids=True,
            )
        ]
    if window is None:
        return [
            Note(
                "Rewards that never come are believed to be missing at random: nothing is learned "
                "from their rounds. Where only some outcomes are reported, such as clicks, declare "
                "window and default_reward."
            )
        ]
    # A guard that is told the mean learns nothing: what is missing then counts as the lowest.
    learns = algorithm.estimator != "none" or isinstance(given["baseline_mean"], str)
    if not learns and edition > 1:
        if given["reward_range"] is not None:
            return []
        return [
            Note(
                "window without default_reward: rewards without a range have no lowest reward that "
                f"a missing one could count as, so {algorithm.name} keeps its promise only if "
                "missing has nothing to do with the reward; declare reward_range or default_reward",
                voids=True,
            )
        ]
    return [
        Note(
            "window without default_reward: rounds whose reward is missing are never learned "
            f"from, so {algorithm.name} keeps its promise only if missing has nothing to do "
            "with the reward; declare what a missing reward is worth",
            voids=True,
        )
    ]


def _lost(given: Mapping[str, Any], edition: int) -> list[Note]:
    """Say what is believed of decisions that may not have been carried out."""
    confirm, default = given["confirm"], given["default_reward"]
    if not confirm:
        return []
    if edition == 1:
        rule = (
            "counts the smaller of its lower bound and the baseline's mean: who is lost, and which "
            "rewards are missing, is believed to depend on neither user nor reward."
            if default is None
            else "is learned from as if it had earned the default: all are believed carried out."
        )
        first = Note(f"This policy has log version 1's rule: a decision without reward {rule}")
        return [first, *_fallbacks(given)]
    notes = []
    if confirm == "by-reward":
        notes.append(Note("A decision without a reward counts as the lowest, played or not."))
    elif default is not None:
        notes.append(
            Note(
                "A decision counts only if it is said to be played; that it is said is believed "
                "not to depend on its reward."
            )
        )
    if isinstance(given["baseline_mean"], str):
        notes.append(
            Note(
                "The baseline's mean is learned from the rounds that are confirmed: who is lost is "
                "believed not to depend on the user."
            )
        )
    return [*notes, *_fallbacks(given)]


def _fallbacks(given: Mapping[str, Any]) -> list[Note]:
    """Say what is believed of decisions in whose place the baseline was played, in any edition."""
    if given["baseline_mean"] is None:  # each round has its own
        return []
    return [
        Note(
            "A fallback because of no answer is credited the baseline's mean: who gets no "
            "answer is believed not to depend on the user."
        )
    ]


def warn_of_void(notes: Iterable[Note], stacklevel: int) -> None:
    """Warn of what voids the promise."""
    for note in notes:
        if note.voids:
            warnings.warn(note.text, NoGuaranteeWarning, stacklevel=stacklevel + 1)
