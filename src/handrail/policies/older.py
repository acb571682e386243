"""State of earlier versions: what it lacks, and what is better computed anew from the rest of it.

Versions 1 and 2 lack fields of the ledger and arrays that change nothing at 0. They kept what
this one derives: over fixed arms it follows from the counts, over contexts from the sums V and
sum r phi, which carry the rounding of every addition.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np

from handrail.policies.context_model import ContextModel
from handrail.policies.fixed import FixedModel
from handrail.policies.model import Arrays, Model
from handrail.records import Floats

__all__ = ["complete_ledger", "derive", "derived"]

_ROUNDING: Final = 0.01
"""Of lambda: where the rounding of V may be more, nothing that was learned is kept."""
_ANEW: Final = (
    "this state is of an earlier version, whose sums are lost in rounding for features as long as "
    "these: the linear model begins to learn anew"
)
_FACTORS: Final = 3
"""The first version that keeps L^-1."""
_LATER: Final = (
    *("variation", "waiting", "lessons", "lesson", "lesson_rest"),
    *("checkpoint", "checkpoints"),
)
_LATEST: Final = ("missed",)
_LATER_ARRAYS: Final = ("gone", "held", "forgone")
_DERIVED: Final = ("means", "gram", "cross", "floors", "factor", "theta")


def complete_ledger(version: int, ledger: dict[str, Any]) -> dict[str, Any]:
    """Return a saved ledger with the fields that its version lacks."""
    lacking = () if version >= _FACTORS else (*(_LATER if version == 1 else ()), *_LATEST)
    return {**dict.fromkeys(lacking, 0), **ledger}


def derived(version: int, name: str) -> bool:
    """Say whether an array is not taken from state of this version."""
    return (version == 1 and name in _LATER_ARRAYS) or (version < _FACTORS and name in _DERIVED)


def derive(version: int, model: Model, arrays: Arrays) -> bool:
    """Compute what was not taken from saved state; say whether that is up to rounding only."""
    if version >= _FACTORS:
        return False
    if isinstance(model, FixedModel):
        model.rebuild()
    if not isinstance(model, ContextModel):
        return False
    dim = len(model.factor)
    design = _sound(arrays["model/design"], (dim, dim))
    response = _sound(arrays["model/response"], (dim,))
    ledger = model.ledger[0]
    ridge = float(model.rules["ridge"][0])
    # A sum of so many products is off by at most about rows u sum |phi|^2 in norm, u = 2^-53.
    rounding = (int(ledger["rows"]) + dim) * 2.0**-52 * float(np.trace(design))
    kept = model.arrays()
    if rounding > _ROUNDING * ridge:
        # V - lambda I may be rounding alone where little was seen, and theta_hat then anything.
        warnings.warn(_ANEW, UserWarning, stacklevel=2)
        kept["factor"][...] = np.eye(dim) / math.sqrt(ridge)
        kept["theta"][...] = 0.0
        ledger["log_det"] = 0.0
        return True
    kept["theta"][...] = np.linalg.solve(design, response)
    kept["factor"][...], log_det = _factor(design, ridge, rounding)
    ledger["log_det"] = max(float(ledger["log_det"]), log_det)
    return True


def _factor(design: Floats, ridge: float, rounding: float) -> tuple[Floats, float]:
    """Return L^-1 of a V that is no larger than the true one, and a log det that is no smaller.

    Notes
    -----
    The rounding e is taken off every eigenvalue, none of which is below lambda. Widths are longer
    by another 5 e / lambda of themselves, for theta_hat: |theta_hat - V^-1 sum r phi|_V is at most
    about 3 (e / lambda) beta, beta >= theta_bound sqrt(lambda).
    """
    values, vectors = np.linalg.eigh((design + design.T) / 2.0)
    lowered = np.maximum(values - rounding, ridge) * (1.0 - 10.0 * rounding / ridge)
    triangle = np.linalg.qr(np.sqrt(lowered)[:, None] * vectors.T, mode="r")
    factor = np.tril(np.linalg.inv(triangle).T)
    factor *= np.sign(np.diag(factor))[:, None]
    largest = np.maximum(values, ridge) + rounding
    return factor, float(np.sum(np.log(largest))) - len(design) * math.log(ridge)


def _sound(array: Any, shape: tuple[int, ...]) -> Floats:
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError("the sums of the regression are impossible")
    result: Floats = array
    return result
