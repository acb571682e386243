"""Who computes a run: chosen by one word of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from handrail.errors import InputError
from handrail.simulation.cluster.address import LOCAL, scheduler_address
from handrail.simulation.crew import Crew
from handrail.simulation.threads import Threads

__all__ = ["check_place", "hire"]


def check_place(on: str, workers: int | None) -> str | None:
    """Check what was asked for, as far as that can be done without a cluster.

    Parameters
    ----------
    on, workers
        As for `hire`.

    Returns
    -------
    str or None
        The address of a scheduler; None for this machine.

    Raises
    ------
    InputError
        Something is wrong with either, or they do not go together.
    """
    address = scheduler_address(on)
    if workers is not None:
        Threads(workers)
        if address is not None:
            raise InputError(
                "workers",
                f"is for on={LOCAL}; a cluster uses all threads that its workers have",
                "leave it out, and start as many workers as you need",
            )
    return address


@contextmanager
def hire(on: str = LOCAL, workers: int | None = None) -> Iterator[Crew]:
    """Return who computes; leaving the ``with`` block lets them go.

    Parameters
    ----------
    on : str, default="local"
        "local", or the address of a Dask scheduler.
    workers : int, optional
        Threads, of this machine only; by default one for each core.

    Yields
    ------
    Crew
        Ready to work.

    Raises
    ------
    InputError
        Something is wrong with either, or with the cluster.
    """
    address = check_place(on, workers)
    if address is None:
        yield Threads(workers)
        return
    from handrail.simulation.cluster.crew import Cluster

    with Cluster(address) as cluster:
        yield cluster
