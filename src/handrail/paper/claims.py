"""The paper's claims: what they say, which figures bear on them, and what those figures found.

A figure gives evidence; a claim is what the evidence of its figures adds up to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from handrail.paper.bootstrap import Interval
from handrail.paper.words import with_interval

__all__ = ["CLAIMS", "Claim", "Evidence", "Part", "Statement", "answer"]


@dataclass(frozen=True)
class Part:
    """One measured number of a claim.

    Attributes
    ----------
    name : str
        What was measured.
    found : Interval
        The measurement.
    paper : str
        What the paper says of it, as text; empty if it gives nothing.
    holds : bool or None
        Whether it bears the paper out; None if it cannot be said.
    counts : bool
        Whether the verdict on the claim looks at it.
    scale : bool
        True if it is left open because the scale is not the paper's.
    percent : bool
        Whether it is a share.
    """

    name: str
    found: Interval
    paper: str = ""
    holds: bool | None = None
    counts: bool = True
    scale: bool = False
    percent: bool = True


@dataclass(frozen=True)
class Evidence:
    """What one figure has to say about one claim; its first part is the headline."""

    claim: str
    figure: str
    parts: tuple[Part, ...]
    why: str


@dataclass(frozen=True)
class Statement:
    """A claim as the paper makes it.

    Attributes
    ----------
    id : str
        Its name.
    claim : str
        What it says.
    paper : str
        The paper's answer.
    figures : tuple of str
        Figures without which it cannot be answered.
    also : tuple of str
        Figures that add to the answer if they were run.
    """

    id: str
    claim: str
    paper: str
    figures: tuple[str, ...]
    also: tuple[str, ...] = ()


CLAIMS: Final = (
    Statement(
        "mab-reduction",
        "In the worst model the regret of CUCB-M, CUCB-S and CUCB2 is below CUCB's",
        "by 43 %, 12 % and more than 51 %",
        ("mab",),
        ("widths",),
    ),
    Statement(
        "mab-order",
        "CUCB-L gains less than CUCB-S, and CUCB2 comes close to CUCB-Or",
        "yes",
        ("mab",),
    ),
    Statement(
        "linear-reduction",
        "In the worst model CLUCB-S and CLUCB2 are alike, at or below CLUCB-Or and below CLUCB",
        "by 38 %",
        ("linear",),
    ),
    Statement(
        "linear-martingale",
        "Averaged over models, CLUCB-M gains on CLUCB too",
        "yes",
        ("linear",),
    ),
    Statement(
        "always-better",
        "CUCB2 and CLUCB2 have less regret than CUCB and CLUCB in every model",
        "yes",
        ("mab", "linear"),
    ),
    Statement(
        "e2-share",
        "Share of the first 5,000 rounds in which a safe action other than the most optimistic "
        "is played, with the third best arm as baseline",
        "38.7 % ± 9 %",
        ("e2-share",),
    ),
    Statement(
        "checkpoints",
        "The regret of CUCB2T and CLUCB2T above that of UCB and LinUCB falls as checkpoints become "
        "rarer, and falls more for weaker baselines",
        "yes",
        ("checkpoint-mab", "checkpoint-linear"),
    ),
    Statement(
        "jester-half",
        "CLUCB2 has less than half of CLUCB's regret, and rarer checkpoints approach LinUCB",
        "yes",
        ("jester",),
    ),
    Statement(
        "safe",
        "Conservative algorithms never let the budget go negative; UCB and LinUCB do, early",
        "yes",
        ("mab", "linear"),
        ("jester", "contextual"),
    ),
)
"""All claims, in the order they are reported."""


@dataclass(frozen=True)
class Claim:
    """A claim with its answer.

    Attributes
    ----------
    statement : Statement
        What the paper says.
    measured, low, high : float or None
        The headline number and its 95 % interval.
    holds : bool or None
        True, False, or None: not answered, `verdict` says why not.
    verdict : str
        "holds", "does not hold", "not measured at this scale", "not decided", "partly run" or
        "not run".
    why : str
        What the verdict rests on.
    parts : tuple of dict
        All numbers.
    """

    statement: Statement
    measured: float | None
    low: float | None
    high: float | None
    holds: bool | None
    verdict: str
    why: str
    percent: bool = True
    parts: tuple[dict[str, Any], ...] = field(default=())

    def json(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        return {
            "id": self.statement.id,
            "figure": self.statement.figures[0],
            "figures": [*self.statement.figures, *self.statement.also],
            "claim": self.statement.claim,
            "paper": self.statement.paper,
            "what": self.parts[0]["name"] if self.parts else "",
            "measured": self.measured,
            "low": self.low,
            "high": self.high,
            "holds": self.holds,
            "verdict": self.verdict,
            "why": self.why,
            "percent": self.percent,
            "parts": list(self.parts),
        }


def _part(figure: str, part: Part) -> dict[str, Any]:
    plain = asdict(part)
    measured, low, high = part.found
    del plain["found"], plain["scale"]
    return {"figure": figure, **plain, "measured": measured, "low": low, "high": high}


def _verdict(
    statement: Statement, parts: Sequence[Part], lacking: Sequence[str]
) -> tuple[bool | None, str]:
    counted = [part for part in parts if part.counts]
    if any(part.holds is False for part in counted):
        return False, "does not hold"
    if lacking:
        return None, "partly run" if parts else "not run"
    if any(part.holds is None and part.scale for part in counted):
        return None, "not measured at this scale"
    if any(part.holds is None for part in counted):
        return None, "not decided"
    return True, "holds"


def _reason(evidence: Sequence[Evidence], holds: bool | None) -> str:
    """Name the numbers that keep a claim from holding."""
    if holds:
        return ""
    found = [
        f"{part.name} ({each.figure}), {with_interval(part.found, share=part.percent)}"
        for each in evidence
        for part in each.parts
        if part.counts and part.holds is holds and not part.scale
    ]
    if not found:
        return ""
    return f"{'Against it' if holds is False else 'Cannot be told'}: {'; '.join(found)}."


def _answer(
    statement: Statement, evidence: Sequence[Evidence], missing: Mapping[str, str]
) -> Claim:
    order = [*statement.figures, *statement.also]
    own = sorted(
        (each for each in evidence if each.claim == statement.id),
        key=lambda each: order.index(each.figure),
    )
    seen = {each.figure for each in own}
    lacking = [name for name in statement.figures if name not in seen]
    parts = [part for each in own for part in each.parts]
    holds, verdict = _verdict(statement, parts, lacking)
    reasons = [_reason(own, holds), *(each.why for each in own)]
    reasons += [f"{name}: {missing.get(name, 'was not run')}." for name in lacking]
    found = parts[0].found if parts else None
    return Claim(
        statement=statement,
        measured=found.measured if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        holds=holds,
        verdict=verdict,
        why=" ".join(reason for reason in reasons if reason),
        percent=parts[0].percent if parts else True,
        parts=tuple(_part(each.figure, part) for each in own for part in each.parts),
    )


def answer(evidence: Sequence[Evidence], missing: Mapping[str, str] | None = None) -> list[Claim]:
    """Answer every claim from the evidence at hand.

    Parameters
    ----------
    evidence : sequence of Evidence
        Of the figures that were made.
    missing : mapping, optional
        Why a figure could not be made, by its name.

    Returns
    -------
    list of Claim
        All of `CLAIMS`, in that order. A claim fails if any number that counts fails; it holds
        if all of them hold and no figure it needs is lacking.
    """
    return [_answer(statement, evidence, missing or {}) for statement in CLAIMS]
