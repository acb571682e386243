"""What runs on the workers of a cluster.

Its scheduler imports this module too, so nothing heavy is imported at the top.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from handrail._version import __version__
from handrail.errors import InputError

if TYPE_CHECKING:
    from handrail.simulation.stop import Stop

__all__ = ["compute", "identity", "limit_threads", "probe"]

_LIMITS: Final = {
    "numpy": ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    "numba": ("NUMBA_NUM_THREADS",),
}
"""What says how many threads a package starts, read when it is imported."""
_LOOK_EVERY: Final = 0.2
_CLOSING: Final = ("closing", "closed", "failed")


def limit_threads() -> None:
    """Have packages that are not imported yet compute in one thread, unless told otherwise.

    A worker computes as many blocks at a time as it has threads; each takes one core. Workers
    under a nanny, Dask's default, are started with these limits, all but Numba's, already.
    """
    for package, names in _LIMITS.items():
        if package not in sys.modules:
            for name in names:
                os.environ.setdefault(name, "1")


def identity() -> dict[str, str]:
    """Return what the bits of results depend on in this process.

    Returns
    -------
    dict
        Versions, the kind of machine and a hash of the code.
    """
    import numba
    import numpy as np

    from handrail.simulation.blocks import fingerprint

    return {
        "handrail": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "code": fingerprint(),
    }


def probe() -> dict[str, str]:
    """Make a worker ready and return its identity."""
    limit_threads()
    return identity()


def compute(code: str, packed: bytes) -> tuple[str, float, bytes | None]:
    """Compute a task on a worker; stop when the scheduler no longer wants it.

    Parameters
    ----------
    code : str
        The fingerprint of the code of whoever asks.
    packed : bytes
        The task's `compute`, pickled.

    Returns
    -------
    address : str
        The worker's.
    seconds : float
        How long it took.
    payload : bytes or None
        The result; None if this worker's code is another.
    """
    from distributed import get_worker

    worker = get_worker()
    if probe()["code"] != code:
        return worker.address, 0.0, None
    from handrail.simulation.stop import Stop

    try:
        work = pickle.loads(packed)
    except InputError as error:
        reason = f"worker {worker.address}: {error.reason}"
        raise InputError(error.field, reason, error.remedy) from None
    stop = Stop()
    with _watched(worker, worker.get_current_task(), stop):
        begin = time.perf_counter()
        payload = work(stop)
        return worker.address, time.perf_counter() - begin, payload


@contextmanager
def _watched(worker: Any, key: Any, stop: Stop) -> Iterator[None]:
    """Set the event once the task is cancelled, its client has gone, or the worker closes."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_EVERY):
            # The scheduler frees a task that nobody wants any more; a thread that computes it is
            # left alone by Dask, and would go on to the end.
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled" or worker.status.name in _CLOSING:
                stop.set()
                return

    thread = threading.Thread(target=watch, name="handrail-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
