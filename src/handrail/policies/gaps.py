"""When checkpoints come: every T rounds, on a list, or after gaps of which something is known.

Of a gap with a known law, a quantile is fixed in advance: with probability 1 - delta_k the k-th gap
is no shorter than q_k. The delta_k = 6 delta_g / (pi k)^2 add up to delta_g over all gaps.

A law may have gaps T that are no whole numbers of rounds, or below 1. A checkpoint then has to come
max(floor(T), 1) rounds after the last one, or later. It does where each T is counted from the round
of the last checkpoint, and where the T add up to times of which all are rounded down, or all up;
not where some are rounded up and others down. For a whole q > 1, P(max(floor(T), 1) < q) =
P(T < q).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from handrail import checks
from handrail.errors import InputError, nearest
from handrail.records import Floats, Ints

__all__ = ["GapLaw", "Schedule", "make_schedule", "plain_gap"]

_ONE_OF: Final = ("checkpoint_every", "checkpoints", "checkpoint_gap")
_LONGEST: Final = 2**53
_ANGLES: Final = "is a law of angles, not of gaps"
_REFUSED: Final = {
    # Laws on a circle: scipy draws from one turn of it, and its cdf is of the whole line.
    **dict.fromkeys(("vonmises", "vonmises_line", "wrapcauchy"), _ANGLES),
    # scipy integrates its density without looking where it is: what is narrow is missed.
    "genhyperbolic": "has a cdf that scipy computes too small where the law is narrow",
}
_REMEDY: Final = "pass a whole number, a frozen scipy.stats distribution or a sample of gaps"


class GapLaw:
    """The law of the gaps between checkpoints.

    Parameters
    ----------
    gap : int, frozen distribution, array_like or mapping
        A minimum that is always kept, a law, a sample that is taken as the law itself, or what
        `plain_gap` made of a law.
    """

    def __init__(self, gap: Any) -> None:
        self.least: int | None = None
        self._sample: Floats | None = None
        self._law: Any = None
        self._atoms: tuple[Any, Fraction] | None = None
        if isinstance(gap, Mapping):
            self._law = _read_law(plain_gap(gap))
        elif hasattr(gap, "ppf"):
            # A law that could not be written down could not be saved either.
            self._law = _read_law(plain_gap(gap))
        elif isinstance(gap, Sequence | np.ndarray) and not isinstance(gap, str):
            sample = checks.finite("checkpoint_gap", checks.array("checkpoint_gap", gap, (None,)))
            self._sample = np.sort(np.floor(sample))
            if self._sample[0] < 1:
                raise InputError("checkpoint_gap", "a gap below 1 is impossible", _REMEDY)
        elif isinstance(gap, int | np.integer):
            self.least = checks.whole("checkpoint_gap", gap, most=_LONGEST)
        else:
            raise InputError("checkpoint_gap", f"{gap!r} is no gap", _REMEDY)
        if self._law is not None and hasattr(self._law.dist, "pmf"):
            self._atoms = _atoms(self._law)

    @property
    def random(self) -> bool:
        """Whether the law is only probable, so that it takes a share of delta."""
        return self.least is None

    def quantile(self, delta: float) -> int:
        """Return the largest whole q with P(T < q) <= delta; at least 1, since gaps are.

        The law's ppf is only where the search begins: scipy's is off by one or more for some laws.
        """
        if self.least is not None:
            return self.least
        if self._sample is not None:
            guess = float(self._sample[min(int(delta * self._sample.size), self._sample.size - 1)])
        else:
            guess = float(self._law.ppf(delta))
        # P(T < best) <= delta < P(T < beyond), or best is 1, where nothing need be proved.
        best = int(min(max(guess, 1.0), _LONGEST)) if math.isfinite(guess) else 1
        step = 1
        while best > 1 and not self._below(best) <= delta:  # not a number is no proof
            best, step = max(best - step, 1), 2 * step
        beyond, step = best + 1, 1
        while beyond < _LONGEST and self._below(beyond) <= delta:
            best, beyond, step = beyond, beyond + step, 2 * step
        while beyond - best > 1:
            middle = (best + beyond) // 2
            if self._below(middle) <= delta:
                best = middle
            else:
                beyond = middle
        return best

    def _below(self, q: int) -> float:
        """P(T < q), which is the cdf at the largest value of T below q."""
        if self._sample is not None:
            return float(np.searchsorted(self._sample, q)) / self._sample.size
        if self._atoms is None:
            return float(self._law.cdf(q))
        whole, loc = self._atoms
        return float(whole.cdf(math.ceil(q - loc) - 1))

    def draw(self, random: np.random.Generator) -> int:
        """Draw a gap for a simulation.

        Of a known minimum half the gaps are exactly that long, which is when it matters.
        """
        if self.least is not None:
            more = int(random.geometric(1.0 / self.least)) if random.random() < 0.5 else 0
            return self.least + more
        if self._sample is not None:
            return int(random.choice(self._sample))
        return max(1, math.floor(float(self._law.rvs(random_state=random))))


def _atoms(law: Any) -> tuple[Any, Fraction]:
    """Return a discrete law as one of whole numbers and the shift, which need not be whole."""
    shapes = law.args[: law.dist.numargs]
    shift = law.kwds.get("loc", sum(law.args[law.dist.numargs :]))
    named = {name: value for name, value in law.kwds.items() if name != "loc"}
    return law.dist(*shapes, **named), Fraction(shift)


def _read_law(gap: Mapping[str, Any]) -> Any:
    from scipy import stats

    name = gap.get("law")
    if name is None:
        raise InputError("checkpoint_gap", "is no frozen law of scipy.stats", _REMEDY)
    family = getattr(stats, name, None) if isinstance(name, str) else None
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
        known = [each for each in dir(stats) if hasattr(getattr(stats, each), "ppf")]
        raise InputError("checkpoint_gap", f"{name!r} is no law", nearest(name, known))
    if name in _REFUSED:
        raise InputError("checkpoint_gap", f"{name!r} {_REFUSED[name]}", _REMEDY)
    try:
        law = family(*gap.get("args", ()), **gap.get("kwds", {}))
        if not math.isfinite(float(law.ppf(0.5))):
            raise ValueError
    except (TypeError, ValueError, AttributeError):
        raise InputError(
            "checkpoint_gap", f"{dict(gap)} are not parameters of {name}", "see scipy.stats"
        ) from None
    return law


def plain_gap(gap: Any) -> Any:
    """Return a gap as JSON or an array can hold it; a law becomes its name and its numbers."""
    if isinstance(gap, Mapping) and "law" in gap:
        name, args, kwds = gap["law"], gap.get("args", ()), gap.get("kwds", {})
    elif not hasattr(gap, "ppf"):
        return gap
    elif not hasattr(gap, "kwds") or not _is_scipys(gap.dist):
        return {"law": None}  # not frozen: no numbers yet; or its name means another law
    else:
        name, args, kwds = gap.dist.name, gap.args, gap.kwds
    if not isinstance(args, tuple | list | np.ndarray) or not isinstance(kwds, Mapping):
        return {"law": None}
    try:
        return {
            "law": name,
            "args": [float(each) for each in args],
            "kwds": {key: float(each) for key, each in kwds.items()},
        }
    except (TypeError, ValueError):  # no numbers, or arrays of them: many laws at once
        return {"law": None}


def _is_scipys(family: Any) -> bool:
    """Say whether a family of laws is the one that scipy.stats has under its name."""
    from scipy import stats

    known: Any = getattr(stats, getattr(family, "name", None) or "", None)
    return type(family) is type(known) and (family.a, family.b) == (known.a, known.b)


class Schedule:
    """Checkpoints other than multiples of a number: a list, or gaps.

    Parameters
    ----------
    rounds : numpy.ndarray, optional
        The checkpoints, increasing; after the last the promise is checked every round.
    law : GapLaw, optional
        What is known of the gaps, in place of a list.
    delta : float
        The probability with which some gap may be shorter than its quantile.
    """

    def __init__(self, rounds: Ints | None, law: GapLaw | None, delta: float) -> None:
        self.rounds = rounds
        self.law = law
        self.delta = delta

    def assured(self, passed: int, latest: int) -> int:
        """Return the round before which no checkpoint comes, after so many, the latest there."""
        if self.rounds is not None:
            later = np.searchsorted(self.rounds, latest + 1)
            return int(self.rounds[later]) if later < self.rounds.size else 0
        assert self.law is not None
        share = 6.0 * self.delta / (math.pi * (passed + 1)) ** 2
        return latest + self.law.quantile(share)


def make_schedule(given: Mapping[str, Any], delta: float) -> Schedule | None:
    """Read the parameters of a schedule with checkpoints; None if they come every T rounds.

    Parameters
    ----------
    given : mapping
        The parameters of `make_policy`.
    delta : float
        The share of delta that random gaps take.

    Returns
    -------
    Schedule or None
        What the ledger is told of the next checkpoint.
    """
    named = [field for field in _ONE_OF if given[field] is not None]
    if len(named) != 1:
        raise InputError(
            named[1] if named else "checkpoint_every",
            f"is given beside {named[0]}"
            if named
            else "is required by a schedule with checkpoints",
            f"pass one of {', '.join(_ONE_OF)}",
        )
    if named[0] == "checkpoint_every":
        return None
    if named[0] == "checkpoint_gap":
        return Schedule(None, GapLaw(given["checkpoint_gap"]), delta)
    rounds = checks.array("checkpoints", given["checkpoints"], (None,))
    whole = rounds.astype(np.int64)
    if (whole != rounds).any() or whole[0] < 1 or (np.diff(whole) <= 0).any():
        raise InputError(
            "checkpoints", "are not increasing whole rounds from 1 on", "pass [100, 250, ...]"
        )
    return Schedule(whole, None, delta)
