"""A cluster as a crew: connected to, checked, and let go of."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Final, Self

from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.simulation.cluster.roster import REMEDY, Roster
from handrail.simulation.cluster.run import ClusterRun
from handrail.simulation.crew import Event, Task
from handrail.simulation.store import Store
from handrail.simulation.threads import TICK

__all__ = ["Cluster"]

_REACHED_WITHIN: Final = 10.0
_CHECKED_WITHIN: Final = 120.0
"""Seconds; a worker that was just started imports a compiler before it answers."""
_LEFT_WITHIN: Final = 5.0
_LOG: Final = logging.getLogger("distributed.client")


class Cluster:
    """The workers of a Dask cluster; leaving the ``with`` block lets go of it.

    Parameters
    ----------
    address : str
        The scheduler's, such as ``tcp://host:8786``.

    Raises
    ------
    InputError
        Dask is not installed, the scheduler cannot be reached, or a worker has other code.
    """

    def __init__(self, address: str) -> None:
        distributed = need_extra("distributed", "dask")
        self._address = address
        self._latest = 1
        _greet(address)
        # What Dask's client would tell of lost workers and schedulers, we tell ourselves.
        self._told = _LOG.level
        _LOG.setLevel(logging.CRITICAL)
        try:
            self._client = distributed.Client(
                address, timeout=_REACHED_WITHIN, set_as_default=False, direct_to_workers=False
            )
        except BaseException as error:
            _LOG.setLevel(self._told)
            if not isinstance(error, Exception):
                raise
            raise _unanswered(address, error) from None
        try:
            self._roster = Roster(self._client)
            self._ask(self._check())
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """The threads of all workers; while there are none, those there were."""
        self._latest = sum(self._roster.threads.values()) or self._latest
        return self._latest

    @contextmanager
    def work(self, tasks: Sequence[Task], store: Store) -> Iterator[Iterator[Event]]:
        """Compute tasks on the cluster and store them here: see `handrail.simulation.crew.Crew`."""
        run = ClusterRun(self._client, self._address, self._roster, tasks, store)
        try:
            yield run.events()
        finally:
            run.stop()

    def close(self) -> None:
        """Leave the cluster; it drops what it still computes for us."""
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=_LEFT_WITHIN)
        _LOG.setLevel(self._told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def _check(self) -> None:
        """Refuse a cluster of which any worker has other code."""
        wrong = await self._roster.look()
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            raise InputError("on", wrong[0] + more, REMEDY)

    def _ask(self, question: Any) -> None:
        """Wait for an answer of the cluster, not for ever."""
        asked = asyncio.run_coroutine_threadsafe(question, self._client.loop.asyncio_loop)
        deadline = time.monotonic() + _CHECKED_WITHIN
        while not asked.done() and time.monotonic() < deadline:
            with suppress(TimeoutError):
                asked.result(TICK)
        if not asked.done():
            asked.cancel()
            why = f"not all workers at {self._address} answered in {_CHECKED_WITHIN:.0f} s"
            raise InputError("on", why, "see to the workers, and run the same command again")
        try:
            asked.result()
        except OSError as error:
            why = f"the scheduler at {self._address} went away ({error})"
            raise InputError("on", why, "start it again") from error


def _greet(address: str) -> None:
    """See that a scheduler answers: Dask's client would wait for ever for other servers to.

    A worker answers too, and is told from a scheduler by what it says it is.
    """
    security = need_extra("distributed", "dask").Security()
    comm = need_extra("distributed.comm", "dask")

    async def greet() -> None:
        settings = security.get_connection_args("client")
        line = await comm.connect(address, timeout=_REACHED_WITHIN, **settings)
        try:
            await line.write({"op": "identity", "reply": True})
            found = (await line.read())["type"]
        finally:
            line.abort()
        if found != "Scheduler":
            raise ValueError(f"a Dask {found.lower()} is there")

    async def in_time() -> None:
        await asyncio.wait_for(greet(), _REACHED_WITHIN + 1.0)

    try:
        # In a thread: the caller's may have an event loop of its own, as in a notebook.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, in_time()).result()
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError, ImportError) as error:
        raise _unanswered(address, error) from None


def _unanswered(address: str, error: Exception) -> InputError:
    why = " ".join(str(error).split()) or "no answer in time"
    return InputError(
        "on",
        f"no Dask scheduler answers at {address} ({why})",
        "start one (dask scheduler), or see to the address, the network and the TLS settings",
    )
