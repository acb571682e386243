"""When the promise is checked, read from text: what a policy is told, and when checks happen."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from handrail import checks
from handrail.errors import InputError, nearest
from handrail.policies.gaps import plain_gap
from handrail.records import Ints

__all__ = ["EVERY_ROUND", "Schedule", "parse_schedule"]

_FORMS: Final = (
    "write every-round, every:T, list:c1,c2,..., min-gap:T, gaps:NAME(numbers) or adversarial"
)
_KINDS: Final = ("every-round", "every", "list", "min-gap", "gaps", "adversarial")
_LAW: Final = re.compile(r"(?P<name>[a-z_0-9]+)\((?P<numbers>[-+.,eE0-9\s]*)\)")
_LONGEST_GAP: Final = 10**9


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the promise is checked.

    Parameters
    ----------
    text : str
        As it was written.
    kind : {"every-round", "every", "list", "min-gap", "gaps", "adversarial"}
        Which form it has.
    numbers : tuple of int
        T, or the list of checkpoints.
    law : frozen distribution of scipy.stats, optional
        Of the gaps between checkpoints.
    """

    text: str
    kind: str
    numbers: tuple[int, ...] = ()
    law: Any = None

    @property
    def reported(self) -> bool:
        """Whether the policy is told of checkpoints as they happen."""
        return self.kind in ("min-gap", "gaps", "adversarial")

    def parameters(self) -> dict[str, Any]:
        """Return what `make_policy` is told about the checkpoints."""
        if self.kind == "every":
            return {"checkpoint_every": self.numbers[0]}
        if self.kind == "list":
            return {"checkpoints": list(self.numbers)}
        if self.kind == "min-gap":
            return {"checkpoint_gap": self.numbers[0]}
        if self.kind == "gaps":
            return {"checkpoint_gap": plain_gap(self.law)}
        if self.kind == "adversarial":
            return {"checkpoint_gap": 1}
        return {"checkpoint_every": 1}

    def checkpoints(self, rounds: int, rng: np.random.Generator) -> Ints:
        """Return the rounds of a run at which the promise is checked.

        Parameters
        ----------
        rounds : int
            The horizon.
        rng : numpy.random.Generator
            Draws gaps where they are random. With a minimum gap every other one, on average, is
            as short as it may be, and the rest are up to twice as long.

        Returns
        -------
        numpy.ndarray
            Increasing rounds.
        """
        every = np.arange(1, rounds + 1)
        if self.kind == "every":
            return every[self.numbers[0] - 1 :: self.numbers[0]]
        if self.kind == "list":
            # After the last of a known list every round is checked.
            return every[np.isin(every, self.numbers) | (every > self.numbers[-1])]
        if self.kind == "min-gap":
            least = self.numbers[0]
            more = rng.integers(0, least + 1, rounds) * rng.integers(0, 2, rounds)
            return _until(least + more, rounds)
        if self.kind == "gaps":
            # Of a gap that ends between two rounds, the earlier one counts: P(gap >= q) is kept.
            drawn = np.floor(self.law.rvs(size=rounds, random_state=rng))
            return _until(np.clip(drawn, 1, _LONGEST_GAP).astype(np.int64), rounds)
        return every


EVERY_ROUND: Final = Schedule("every-round", "every-round")


def _until(gaps: Ints, rounds: int) -> Ints:
    ends = np.cumsum(gaps)
    return np.asarray(ends[ends <= rounds])


def parse_schedule(text: str) -> Schedule:
    """Read a schedule.

    Parameters
    ----------
    text : str
        ``every-round``; ``every:T``; ``list:c1,c2,...``, increasing, every round after the last;
        ``min-gap:T``, checkpoints that are reported as they happen, at least T rounds apart;
        ``gaps:NAME(numbers)``, gaps drawn from a distribution of `scipy.stats` with these
        parameters, such as ``gaps:poisson(50)``; ``adversarial``, any round may be one.

    Returns
    -------
    Schedule
        The schedule.

    Examples
    --------
    >>> parse_schedule("every:50").parameters()
    {'checkpoint_every': 50}
    >>> parse_schedule("list:10,30").checkpoints(33, np.random.default_rng(0)).tolist()
    [10, 30, 31, 32, 33]
    """
    kind, colon, rest = text.strip().partition(":")
    checks.one_of("schedule", kind, _KINDS)
    if bool(colon) is (kind in ("every-round", "adversarial")):
        raise InputError("schedule", f"{text!r} is no schedule", _FORMS)
    if not colon:
        return Schedule(kind, kind)
    if kind == "gaps":
        return Schedule(f"gaps:{rest.strip()}", kind, law=_law(rest.strip()))
    try:
        numbers = tuple(int(each) for each in rest.split(","))
    except ValueError:
        raise InputError("schedule", f"{rest!r} is not made of whole numbers", _FORMS) from None
    if kind != "list" and len(numbers) != 1:
        raise InputError("schedule", f"{kind} takes one number", f"write {kind}:{numbers[0]}")
    if numbers[0] < 1 or any(a >= b for a, b in pairwise(numbers)):
        raise InputError("schedule", f"{text!r} does not increase from 1 up", _FORMS)
    return Schedule(f"{kind}:{','.join(map(str, numbers))}", kind, numbers)


def _law(text: str) -> Any:
    """Return a frozen distribution; the text is matched and never evaluated."""
    from scipy import stats

    found = _LAW.fullmatch(text)
    if found is None:
        raise InputError("schedule", f"{text!r} is no NAME(numbers)", "write gaps:poisson(50)")
    kinds = (stats.rv_discrete, stats.rv_continuous)
    known = [name for name in dir(stats) if isinstance(getattr(stats, name), kinds)]
    name = found["name"]
    if name not in known:
        raise InputError(
            "schedule", f"{name!r} is no distribution of scipy.stats", nearest(name, known)
        )
    try:
        numbers = [float(each) for each in found["numbers"].split(",") if each.strip()]
        law = getattr(stats, name)(*numbers)
        with np.errstate(all="ignore"):  # parameters out of range give NaN
            proper = math.isfinite(float(law.cdf(1.0)))
    except (TypeError, ValueError) as error:
        raise InputError(
            "schedule", f"{text} is no distribution ({error})", "see scipy.stats"
        ) from None
    if not proper:
        raise InputError(
            "schedule", f"{text} has parameters out of range", f"see scipy.stats.{name}"
        )
    return law
