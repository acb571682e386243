"""The named algorithms, each a row of parts.

References
----------
P. Auer et al. (2002) UCB; Y. Abbasi-Yadkori et al. (2011) LinUCB; Y. Wu et al. (2016) CUCB;
A. Kazerouni et al. (2017) CLUCB; E. Garcelon et al. (2020) the others up to CLUCB2T. HANDRAIL,
LinHANDRAIL and GUARD put sharper bounds of others into their frame; `preset` says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.errors import InputError, nearest, shown
from handrail.policies.algorithm import FIXED_ARMS, Algorithm

__all__ = ["algorithm", "algorithm_by_name_alone", "algorithms"]

_MEANS: Final = {
    "width": ["kl", "mixture"],
    "cumulative": ["bernstein", "mixture"],
    "tightest_at": 10.0,
}
_LINEAR: Final = {
    "width": "intersection",
    "cumulative": "mixture",
    "tightest_at": 10.0,
    "ridge": "balanced",
    "learn_baseline": FIXED_ARMS,
}
_GUARD: Final = {"width": ["kl", "mixture"], "cumulative": ["bernstein", "mixture"]}
"""What measured best on problems other than the paper's: docs/decisions.md."""

_IF_LINEAR: Final = "; promised if means are linear in the features, else not."

_ROWS: Final = (
    Algorithm(
        "UCB", "means", "none", "optimistic", "none",
        "Most optimistic arm; no promise.",
    ),
    Algorithm(
        "CUCB", "means", "arm-sums", "two-step", "every-round",
        "UCB's arm if the arms' lower bounds certify it, else the baseline.",
    ),
    Algorithm(
        "CUCB-Or", "means", "oracle", "two-step", "every-round",
        "CUCB with the constraint checked on the true means.",
    ),
    Algorithm(
        "CUCB-L", "means", "arm-sums", "largest-lower", "every-round",
        "CUCB that prefers the safe arm with the largest lower bound to the baseline.",
    ),
    Algorithm(
        "CUCB-M", "means", "martingale", "two-step", "every-round",
        "CUCB with the martingale bound on the past.",
    ),
    Algorithm(
        "CUCB-S", "means", "arm-sums", "constrained", "every-round",
        "CUCB that plays the most optimistic safe arm.",
    ),
    Algorithm(
        "CUCB2", "means", "martingale", "constrained", "every-round",
        "Most optimistic safe arm, the past bounded by a martingale.",
    ),
    Algorithm(
        "CUCB2T", "means", "martingale", "constrained", "checkpoints",
        "CUCB2 with the promise checked at checkpoints.",
    ),
    Algorithm(
        "LinUCB", "linear", "none", "optimistic", "none",
        "Most optimistic action of a linear model; no promise.",
    ),
    Algorithm(
        "CLUCB", "linear", "self-normalised", "two-step", "every-round",
        "LinUCB's action if the ellipsoid certifies it, else the baseline" + _IF_LINEAR,
    ),
    Algorithm(
        "CLUCB-Or", "linear", "oracle", "two-step", "every-round",
        "CLUCB with the constraint checked on the true means.",
    ),
    Algorithm(
        "CLUCB-L", "linear", "self-normalised", "largest-lower", "every-round",
        "CLUCB that prefers the safe action with the largest lower bound to the baseline"
        + _IF_LINEAR,
    ),
    Algorithm(
        "CLUCB-M", "linear", "martingale", "two-step", "every-round",
        "CLUCB with the martingale bound on the past" + _IF_LINEAR,
    ),
    Algorithm(
        "CLUCB-S", "linear", "self-normalised", "constrained", "every-round",
        "CLUCB that plays the most optimistic safe action" + _IF_LINEAR,
    ),
    Algorithm(
        "CLUCB2", "linear", "martingale", "constrained", "every-round",
        "Most optimistic safe action, the past bounded by a martingale" + _IF_LINEAR,
    ),
    Algorithm(
        "CLUCB2T", "linear", "martingale", "constrained", "checkpoints",
        "CLUCB2 with the promise checked at checkpoints" + _IF_LINEAR,
    ),
    Algorithm(
        "HANDRAIL", "means", "larger", "constrained", "every-round",
        "The recommended one for arms: CUCB2 with sharper bounds.", _MEANS,
    ),
    Algorithm(
        "HANDRAIL-Or", "means", "oracle", "constrained", "every-round",
        "HANDRAIL with the constraint checked on the true means.", _MEANS,
    ),
    Algorithm(
        "HANDRAILT", "means", "larger", "constrained", "checkpoints",
        "HANDRAIL with the promise checked at checkpoints.", _MEANS,
    ),
    Algorithm(
        "LinHANDRAIL", "linear", "larger", "constrained", "every-round",
        "The recommended one for linear models: CLUCB2 with sharper bounds" + _IF_LINEAR, _LINEAR,
    ),
    Algorithm(
        "LinHANDRAIL-Or", "linear", "oracle", "constrained", "every-round",
        "LinHANDRAIL with the constraint checked on the true means.", _LINEAR,
    ),
    Algorithm(
        "LinHANDRAILT", "linear", "larger", "constrained", "checkpoints",
        "LinHANDRAIL with the promise checked at checkpoints" + _IF_LINEAR, _LINEAR,
    ),
    Algorithm(
        "GUARD", "none", "martingale", "proposal", "every-round",
        "Anybody's proposal if what was earned pays for it, else the baseline; no model.", _GUARD,
    ),
    Algorithm(
        "GUARD-T", "none", "martingale", "proposal", "checkpoints",
        "GUARD with the promise checked at checkpoints.", _GUARD,
    ),
)  # fmt: skip

_BY_NAME: Final = {row.name: row for row in _ROWS}

_MEANS_AT_FIRST: Final = {
    "width": ["kl", "mixture"],
    "cumulative": ["bernstein", "mixture"],
    "tightest_at": 10.0,
}
_LINEAR_AT_FIRST: Final = {
    "width": "intersection",
    "cumulative": "mixture",
    "tightest_at": 10.0,
    "ridge": "balanced",
    "learn_baseline": "mean",
}
_GUARD_AT_FIRST: Final = {"width": ["kl", "mixture"], "cumulative": ["bernstein", "mixture"]}
_AT_FIRST: Final[Mapping[str, tuple[str, str, str, str, Mapping[str, Any]]]] = {
    "HANDRAIL": ("means", "larger", "constrained", "every-round", _MEANS_AT_FIRST),
    "HANDRAIL-Or": ("means", "oracle", "constrained", "every-round", _MEANS_AT_FIRST),
    "HANDRAILT": ("means", "larger", "constrained", "checkpoints", _MEANS_AT_FIRST),
    "LinHANDRAIL": ("linear", "larger", "constrained", "every-round", _LINEAR_AT_FIRST),
    "LinHANDRAIL-Or": ("linear", "oracle", "constrained", "every-round", _LINEAR_AT_FIRST),
    "LinHANDRAILT": ("linear", "larger", "constrained", "checkpoints", _LINEAR_AT_FIRST),
    "GUARD": ("none", "martingale", "proposal", "every-round", _GUARD_AT_FIRST),
    "GUARD-T": ("none", "martingale", "proposal", "checkpoints", _GUARD_AT_FIRST),
}
"""What names of our own meant to releases that wrote down names and given parameters alone.

Nothing here changes any more; the paper's names mean what they always did.
"""


def algorithms() -> list[Algorithm]:
    """Return the catalogue, one row an algorithm.

    Returns
    -------
    list of Algorithm
        Rows with name, estimator, past, selection, schedule and description.

    Examples
    --------
    >>> len(algorithms())
    24
    >>> [row.name for row in algorithms() if row.schedule == "checkpoints"]
    ['CUCB2T', 'CLUCB2T', 'HANDRAILT', 'LinHANDRAILT', 'GUARD-T']
    """
    return list(_ROWS)


def algorithm(name: str) -> Algorithm:
    """Return one row of the catalogue.

    Parameters
    ----------
    name : str
        One of the names in `algorithms()`.

    Returns
    -------
    Algorithm
        The row.

    Examples
    --------
    >>> algorithm("CLUCB2").past
    'martingale'
    """
    row = _BY_NAME.get(name) if isinstance(name, str) else None
    if row is None:
        raise InputError(
            "algorithm", f"{shown(name)} is not in the catalogue", nearest(name, _BY_NAME)
        )
    return row


def algorithm_by_name_alone(name: str) -> Algorithm:
    """Return the row that a name meant to releases that wrote down no more than the name."""
    if name not in _AT_FIRST:
        return algorithm(name)
    estimator, past, selection, schedule, preset = _AT_FIRST[name]
    return Algorithm(name, estimator, past, selection, schedule, preset=preset)
