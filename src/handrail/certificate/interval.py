"""An exact interval for a share of runs, and the verdict it leads to.

References
----------
C. J. Clopper, E. S. Pearson (1934). The use of confidence or fiducial limits illustrated in the
case of the binomial. Biometrika 26(4).
"""

from __future__ import annotations

from typing import Final

from handrail import checks
from handrail.errors import InputError

__all__ = ["CONFIDENCE", "FALSE_ALARM", "clopper_pearson", "verdict"]

CONFIDENCE: Final = 0.9999
"""Of the interval, both sides together."""
FALSE_ALARM: Final = 5e-5
"""The chance that the interval lies above delta although the true share does not: one side."""


def clopper_pearson(
    violations: int, runs: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share.

    Parameters
    ----------
    violations, runs : int
        How many of how many independent runs were violated.
    confidence : float, default=0.9999
        The probability with which the interval covers the true share, at least.

    Returns
    -------
    low, high : float
        The interval.

    Notes
    -----
    With a = (1 - confidence) / 2, k violations and n runs, low is the a-quantile of
    Beta(k, n - k + 1) and high the (1 - a)-quantile of Beta(k + 1, n - k); low is 0 at k = 0 and
    high is 1 at k = n. Each side errs with probability at most a, whatever the true share is.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 1000)
    >>> low, round(high, 4)
    (0.0, 0.0099)
    """
    from scipy.stats import beta

    checks.whole("runs", runs)
    if not 0 <= checks.whole("violations", violations, least=0) <= runs:
        raise InputError("violations", f"{violations} is more than {runs} runs", "count runs")
    tail = (1.0 - checks.share("confidence", confidence)) / 2.0
    low = float(beta.ppf(tail, violations, runs - violations + 1)) if violations else 0.0
    high = float(beta.ppf(1.0 - tail, violations + 1, runs - violations))
    return low, high if violations < runs else 1.0


def verdict(low: float, high: float, delta: float) -> str:
    """Return what an interval says about the promise that the share is at most delta.

    Parameters
    ----------
    low, high : float
        The interval.
    delta : float
        What was promised.

    Returns
    -------
    {"holds", "not refuted", "fails"}
        The whole interval is at most delta, delta lies within it, or the whole interval is above.

    Examples
    --------
    >>> verdict(0.0, 0.01, 0.1), verdict(0.05, 0.2, 0.1), verdict(0.15, 0.2, 0.1)
    ('holds', 'not refuted', 'fails')
    """
    if low > delta:
        return "fails"
    return "holds" if high <= delta else "not refuted"
