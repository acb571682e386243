"""Numbers as text, the same way in pictures, report and terminal."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.paper.bootstrap import Interval

__all__ = ["listed", "number", "percent", "with_interval"]


def number(value: float) -> str:
    """Write a number with as many digits as it deserves.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str
        Three significant digits, or all digits before the point.

    Examples
    --------
    >>> number(12345.6), number(0.01234), number(3.0)
    ('12,346', '0.0123', '3')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percent(value: float) -> str:
    """Write a share in percent.

    Parameters
    ----------
    value : float
        The share.

    Returns
    -------
    str
        With one digit behind the point; with two significant ones if it is tiny.

    Examples
    --------
    >>> percent(0.4321), percent(0.00012), percent(0)
    ('43.2 %', '0.012 %', '0 %')
    """
    if value == 0:
        return "0 %"
    return f"{100 * value:.2g} %" if abs(value) < 0.001 else f"{100 * value:.1f} %"


def with_interval(found: Interval, *, share: bool = True) -> str:
    """Write a measurement with its interval.

    Parameters
    ----------
    found : Interval
        The measurement.
    share : bool, default=True
        Whether it is written in percent.

    Returns
    -------
    str
        The number, and the interval in brackets.

    Examples
    --------
    >>> with_interval(Interval(0.4, 0.35, 0.46))
    '40.0 % [35.0, 46.0]'
    >>> with_interval(Interval(4200.0, 4000.0, 4400.0), share=False)
    '4,200 [4,000, 4,400]'
    """
    if not share:
        return f"{number(found.measured)} [{number(found.low)}, {number(found.high)}]"
    low, high = (percent(value).removesuffix(" %") for value in (found.low, found.high))
    return f"{percent(found.measured)} [{low}, {high}]"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does.

    Parameters
    ----------
    names : sequence of str
        The names.

    Returns
    -------
    str
        With commas and a final "and".

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
