"""The measurements behind docs/decisions.md: what was chosen against what was not."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

from benchmarks.linucb import Floats
from benchmarks.measure import Row, interleave, median, ratio, timed
from handrail.estimators import contexts
from handrail.records import LEDGER, Record, new_record

ACTIONS, DIM, CALLS, REPETITIONS = 30, 100, 300, 9


@numba.njit(nogil=True)
def through_blas(inverse: Floats, features: Floats, result: Floats) -> None:
    """Quadratic forms by a matrix product."""
    product = np.dot(features, inverse)
    for a in range(features.shape[0]):
        result[a] = np.dot(product[a], features[a])


@numba.njit(nogil=True)
def take_record(ledger_: Record, one: Floats, two: Floats) -> None:
    """Do nothing with a record and two arrays."""
    one[0] = ledger_[0].reward + two[0]


@numba.njit(nogil=True)
def take_arrays(ledger: Floats, one: Floats, two: Floats) -> None:
    """Do nothing with three arrays."""
    one[0] = ledger[0] + two[0]


def _compare(
    group: str, chosen: str, contestants: dict[str, Callable[[], object]], calls: int = CALLS
) -> list[Row]:
    def many(work: Callable[[], object]) -> Callable[[], float]:
        return lambda: timed(lambda: [work() for _ in range(calls)])

    seconds = interleave({name: many(work) for name, work in contestants.items()}, REPETITIONS)
    return [
        Row(
            group,
            name,
            median(seconds[name], calls),
            "us/call",
            "" if name == chosen else chosen,
            None if name == chosen else ratio(seconds[name], seconds[chosen]),
            note="chosen" if name == chosen else "",
        )
        for name in contestants
    ]


def rows() -> list[Row]:
    """Measure."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ACTIONS, DIM))
    root = rng.standard_normal((DIM, 2 * DIM))
    design = root @ root.T + np.eye(DIM)
    inverse, result = np.asarray(np.linalg.inv(design), dtype=np.float64), np.empty(ACTIONS)
    factor = np.asarray(np.linalg.inv(np.linalg.cholesky(design)), dtype=np.float64)
    columns, white = np.empty((2, DIM, contexts.lanes(ACTIONS)))
    wide, mean = np.empty((2, columns.shape[1]))

    def tiles() -> None:
        contexts.load_features(features, 1e6, columns)
        contexts._products(factor, factor[0], columns, white, wide, mean)

    tiles()
    through_blas(inverse, features, result)
    np.testing.assert_allclose(wide[:ACTIONS], result, rtol=1e-9)
    ledger, one, two = new_record(LEDGER), np.zeros(1), np.zeros(1)
    size = f"K={ACTIONS} d={DIM}"
    return [
        *_compare(
            f"choice: widths {size}",
            "compiled tiles",
            {
                "compiled tiles": tiles,
                "matrix product through BLAS": lambda: through_blas(inverse, features, result),
            },
        ),
        *_compare(
            "choice: call into compiled code",
            "a record and two arrays",
            {
                "a record and two arrays": lambda: take_record(ledger, one, two),
                "three arrays": lambda: take_arrays(one, one, two),
            },
            3000,
        ),
    ]
