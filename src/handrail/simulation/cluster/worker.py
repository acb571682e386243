"""What runs on the workers of a cluster."""

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

_LOOK_EVERY: Final = 0.2
_CLOSING: Final = ("closing", "closed", "failed")


def limit_threads() -> None:
    """Have Numba start one thread, unless it runs already or was told otherwise.

    A worker computes as many blocks at a time as it has threads, each on one core; compiled code
    of ours starts no threads, and calls none of linear algebra's. Those are limited by the nanny
    that starts a worker: Dask's worker has loaded NumPy before anyone can ask it for something.
    """
    if "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_NUM_THREADS", "1")


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
