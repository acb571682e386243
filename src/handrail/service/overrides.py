"""Overrides: what of the agreed a round tells otherwise, compared by what it means.

0.5 and [0.5, 0.5] are the same mean; an action's name and its index are the same baseline.
"""

from __future__ import annotations

from handrail.policies.knowledge import baseline_interval
from handrail.policies.rounds import mean_of_round
from handrail.service.book import Book
from handrail.service.events import Decided
from handrail.service.messages import Action, Mean

__all__ = ["other_baseline", "other_mean", "overridden", "told_otherwise"]


def other_baseline(book: Book, told: Action | None, names: list[str] | None) -> bool:
    """Say whether a round told another baseline than was agreed on.

    Parameters
    ----------
    book : Book
        The policy.
    told : int or str or None
        The round's baseline, as `Policy.decide` takes it.
    names : list of str or None
        What the round calls its actions, where it names them.
    """
    if told is None or "baseline" not in book.definition["parameters"]:
        return False
    agreed = book.baseline
    if book.varies and isinstance(agreed, str):
        return names is None or agreed not in names or told != names.index(agreed)
    return told != agreed


def other_mean(book: Book, told: Mean | None) -> bool:
    """Say whether a round told another mean of the baseline than was agreed on."""
    if told is None or "baseline_mean" not in book.definition["parameters"]:
        return False
    known = book.policy._settings.known
    return known.learned or baseline_interval(book.units, told) != (known.low, known.high)


def told_otherwise(book: Book, event: Decided) -> list[str]:
    """Return what of the agreed an event's round told otherwise, as far as it shows by itself.

    A log names the round's actions only by a digest, unless it keeps its candidates. So where the
    agreed baseline is a name of contexts, the baseline's index shows nothing; but a round that
    played it says what it was called.
    """
    other = other_baseline(book, event.baseline, None)
    if other and book.varies and isinstance(book.baseline, str):
        if isinstance(event.candidates, dict):
            other = other_baseline(book, event.baseline, list(event.candidates))
        else:
            # The agreed name if it is the baseline that was played, another one if not.
            is_agreed = event.named == book.baseline
            other = event.named is None or is_agreed != (event.action == event.baseline)
    told = {"baseline": other, "baseline_mean": other_mean(book, event.told)}
    return [field for field, differs in told.items() if differs]


def overridden(book: Book, event: Decided) -> list[str]:
    """Return what of the agreed a round of the log overrode.

    Version 2 of the log says it. Version 1 does not, nor what the round told: there the mean that
    was used is compared with the one that holds where a round tells none.
    """
    if book.version > 1:
        return event.overrides or []
    fields = [field for field in told_otherwise(book, event) if field == "baseline"]
    settings = book.policy._settings
    if settings.known.low is None or settings.known.fixed:
        return fields
    if (event.floor, event.mean) != mean_of_round(settings, None, other=False):
        fields.append("baseline_mean")
    return fields
