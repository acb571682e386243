"""One run on a cluster: a window of tasks is out at any time, and what comes back is stored."""

from __future__ import annotations

import asyncio
import pickle
import queue
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.simulation.cluster.roster import REMEDY, Roster
from handrail.simulation.crew import Event, Finished, Notice, Task, name_block
from handrail.simulation.stop import Interrupted
from handrail.simulation.store import Store
from handrail.simulation.threads import TICK

__all__ = ["AHEAD", "ClusterRun"]

AHEAD: Final = 3
"""Tasks that are out for each thread of the cluster: one is computed, the others wait there."""
# Text, not a function of ours: a worker that cannot import it would go down with the message it
# came in, and the scheduler needs no handrail at all.
_COMPUTE: Final = (
    "__import__('handrail.simulation.cluster.worker', fromlist=['compute']).compute(code, packed)"
)
_LOOK_EVERY: Final = 1.0
_ATTEMPTS: Final = 4
"""How often a task is sent that comes back without an answer."""
_STOPPED_WITHIN: Final = 10.0
_KEPT: Final = "what finished is kept, and the same command goes on from there"


class _SendAgain(Exception):
    """A task came back without a result."""

    def __init__(self, *, counts: bool = True) -> None:
        super().__init__()
        self.counts = counts


class ClusterRun:
    """Tasks on their way to a cluster and back.

    All talk with the cluster is coroutines in the client's event loop, one for each task that is
    out: memory stays flat, here and at the scheduler, however many tasks there are.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    address : str
        The scheduler's.
    roster : Roster
        The cluster's workers.
    tasks : sequence of Task
        What is to be computed.
    store : Store
        Where results are kept.
    """

    def __init__(
        self, client: Any, address: str, roster: Roster, tasks: Sequence[Task], store: Store
    ) -> None:
        self._client = client
        self._address = address
        self._roster = roster
        self._tasks = tasks
        self._store = store
        self._killed: Any = need_extra("distributed.scheduler", "dask").KilledWorker
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._out: dict[Any, frozenset[str] | None] = {}
        """Dask's futures, and the workers each is for; None: for all."""
        self._moved: set[str] = set()
        """Keys that are sent again because their workers have gone."""
        # Unique: another client with the same tasks must not find its own cancelled by us.
        self._name = uuid.uuid4().hex
        self._sent = 0
        self._waiting = False
        self._ended = threading.Event()
        # One thread that no Ctrl-C reaches, and the event loop does not wait for the disk.
        self._storing = ThreadPoolExecutor(1, "handrail-store")
        self._running = asyncio.run_coroutine_threadsafe(self._run(), client.loop.asyncio_loop)

    def events(self) -> Iterator[Event]:
        """Yield each task once it is stored, what else happens, and None now and then."""
        while True:
            # Asked first: what was reported before it ended is in the queue then.
            over = self._running.done()
            try:
                yield self._events.get(timeout=0.0 if over else TICK)
            except queue.Empty:
                if over:
                    self._running.result()
                    return
                yield None

    def stop(self) -> None:
        """Take back what is out, and wait until that is done; a second Ctrl-C does not wait."""
        self._running.cancel()
        deadline = time.monotonic() + _STOPPED_WITHIN
        while not self._ended.wait(TICK) and time.monotonic() < deadline:
            continue
        self._storing.shutdown()

    async def _run(self) -> None:
        """Keep the window full until there are no more tasks."""
        waiting = iter(self._tasks)
        busy: set[asyncio.Task[Finished]] = set()
        watch = asyncio.create_task(self._watch())
        try:
            while True:
                window = AHEAD * max(1, sum(self._roster.threads.values()))
                room = max(0, window - len(busy))  # the cluster may have shrunk
                busy |= {asyncio.create_task(self._one(task)) for task in islice(waiting, room)}
                if not busy:
                    return
                # Not for longer: the cluster may have grown.
                done, _ = await asyncio.wait(
                    {*busy, watch}, timeout=_LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED
                )
                for each in done:
                    self._events.put(each.result())
                busy -= done
        finally:
            out = list(self._out)  # each is taken off the list as its coroutine ends
            ending = {*busy, watch}
            for each in ending:
                each.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            with suppress(OSError):
                await self._client.cancel(out)
            self._out.clear()
            self._ended.set()

    async def _one(self, task: Task) -> Finished:
        """Have one task computed, and store its result."""
        packed = pickle.dumps(task.compute)
        left = _ATTEMPTS
        try:
            while left:
                try:
                    seconds, payload = await self._send(task, packed)
                    break
                except _SendAgain as again:
                    left -= again.counts
            else:
                why = f"a block came back {_ATTEMPTS} times without a result"
                raise InputError("on", why, f"look at the workers' logs; {_KEPT}")
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._storing, self._store.put, task.key, payload)
        except Exception as error:
            name_block(error, task)
            raise
        return Finished(task, seconds)

    async def _send(self, task: Task, packed: bytes) -> tuple[float, bytes]:
        """Return the seconds a worker took, and the result."""
        while self._roster.refused and not self._roster.threads:
            await asyncio.sleep(TICK)
        # Only where there is anyone to avoid: a list of all workers is long.
        allowed = frozenset(self._roster.threads) if self._roster.refused else None
        self._sent += 1
        key = f"handrail-{task.kind}-{self._name}-{self._sent}"
        future = self._client.submit(
            eval,
            _COMPUTE,
            {"code": self._roster.code, "packed": packed},
            key=key,
            pure=False,
            workers=None if allowed is None else sorted(allowed),
        )
        self._out[future] = allowed
        try:
            worker, seconds, payload = await future
        except CancelledError:  # by somebody else, or by us because its workers have gone
            await self._check_connection()
            raise _SendAgain(counts=key not in self._moved) from None
        except Interrupted:
            raise _SendAgain from None
        except self._killed as error:
            why = f"{error.allowed_failures + 1} workers died while they computed a block, the last"
            raise InputError(
                "on",
                f"{why} at {error.last_worker.address}",
                f"look at the workers' memory and logs; {_KEPT}",
            ) from None
        except ImportError as error:
            await self._look()
            if self._roster.refused:  # one of those, for the others were asked
                raise _SendAgain from None
            raise InputError(
                "on", f"a worker cannot import all it needs ({error})", REMEDY
            ) from error
        finally:
            # Forgotten at the scheduler too, once the last reference has gone.
            self._out.pop(future, None)
            self._moved.discard(key)
        if payload is None:
            if worker not in self._roster.refused:
                wrong = self._roster.refuse(worker, "runs other code than this process")
                self._events.put(Notice(f"{wrong}: it gets no work"))
            raise _SendAgain
        return seconds, payload

    async def _check_connection(self) -> None:
        """Wait while Dask connects again; say so if it gave up."""
        while self._client.status == "connecting":
            await asyncio.sleep(TICK)
        if self._client.status != "running":
            raise InputError(
                "on", f"the scheduler at {self._address} was lost", f"start it again; {_KEPT}"
            )

    async def _watch(self) -> Any:
        """Keep the roster up to date."""
        while True:
            await self._look()
            there = set(self._roster.threads)
            stranded = [
                future
                for future, allowed in self._out.items()
                if allowed is not None and not allowed & there
            ]
            if stranded:
                self._moved |= {future.key for future in stranded}
                await self._client.cancel(stranded)
            await asyncio.sleep(_LOOK_EVERY)

    async def _look(self) -> None:
        """Look at the workers and tell what has changed."""
        try:
            wrong = await self._roster.look()
        except OSError:
            await self._check_connection()
            return
        for each in wrong:
            self._events.put(Notice(f"{each}: it gets no work"))
        none = not self._roster.threads
        if none and not self._waiting:
            self._events.put(
                Notice(f"no worker is left at {self._address}: waiting for some (Ctrl-C stops)")
            )
        elif self._waiting and not none:
            self._events.put(Notice(f"{len(self._roster.threads)} worker(s) came: going on"))
        self._waiting = none
