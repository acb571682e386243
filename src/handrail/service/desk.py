"""The desk: requests wait here, one thread serves them, many in one transaction.

While a batch is on its way to the disk the next one gathers: the more requests are in flight, the
fewer commits each of them pays for (group commit). Nothing is answered before it is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from handrail.errors import InputError
from handrail.policies.outcomes import Because
from handrail.service import commands, outcomes, views
from handrail.service.book import Book
from handrail.service.events import Decided
from handrail.service.keeper import TRY_SECONDS, Keeper
from handrail.service.keys import rotten_keys
from handrail.service.limits import Limits
from handrail.service.messages import (
    Answer,
    ArmAnswer,
    ArmRequest,
    CheckpointAnswer,
    CreateRequest,
    DecideRequest,
    FallbackAnswer,
    ModeRequest,
    PlayedAnswer,
    RewardAnswer,
    RewardRequest,
)
from handrail.service.problems import Problem, from_input, mistake
from handrail.service.session import Look, Session
from handrail.service.shelf import Shelf
from handrail.service.shown import BudgetView, DecisionPage, EstimatesView, PolicyPage, PolicyView
from handrail.service.store.protocol import (
    KeyRow,
    LogMoved,
    Reader,
    Row,
    Store,
    StoreBroken,
    StoreUnavailable,
)
from handrail.service.tasks import CALLER, Task, away, resolve
from handrail.service.verify import Verifier
from handrail.service.warm import warm

__all__ = ["Desk"]

_LOG: Final = logging.getLogger("handrail.service")
_T = TypeVar("_T")

_STALL_SECONDS: Final = 15.0
"""A batch that takes longer has met a disk or a database that neither works nor fails."""

_VERIFIER_SECONDS: Final = 1.0
"""How long to wait for a page that is being read when the service ends."""


class Desk:
    """Serves requests on policies, in the order in which they come.

    Parameters
    ----------
    store : Store
        The database.
    limits : Limits
        What is taken at most.
    clock : callable
        The time in seconds since 1970.

    Attributes
    ----------
    ready : bool
        Whether requests are served, and the database takes what they change.
    broken : BaseException or None
        Why the service has to end: what was written may not be on disk.
    restored : int
        How often a log was found not to go on from where memory was.
    """

    def __init__(
        self, store: Store, *, limits: Limits | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self.limits = Limits() if limits is None else limits
        self._clock = clock
        self._shelf = Shelf(self.limits.books)
        self._queue: SimpleQueue[Task | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="handrail-desk", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._keeper = Keeper(store, self._shelf, self.limits)
        self._verifier = Verifier(store, self._shelf)
        self._used: set[int] = set()
        self._open = False
        self._busy: float | None = None
        self._checked = 0.0
        self.broken: BaseException | None = None
        self.restored = 0
        self.batches = 0
        self.commit_seconds = 0.0

    # -- life ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Compile the rules and start to serve."""
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        await asyncio.to_thread(warm)
        self._thread.start()
        self._verifier.start()
        self._open = True

    async def stop(self, grace: float) -> None:
        """Serve what waits, write snapshots, and end."""
        self._open = False
        if not self._thread.is_alive():
            return
        self._queue.put(None)
        # Not in a thread of the pool: reads that hang may have taken them all.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), grace)

    @property
    def ready(self) -> bool:
        """Whether requests are served, and the database takes what they change."""
        busy = self._busy
        stalled = busy is not None and time.monotonic() - busy > _STALL_SECONDS
        return self._open and self.reachable and not stalled

    @property
    def reachable(self) -> bool:
        """Whether the database took what was written last."""
        return self._keeper.reachable

    @property
    def damaged(self) -> int:
        """How many logs were found not to follow their hashes."""
        return len(self._shelf.damaged)

    @property
    def damaged_rows(self) -> dict[str, int]:
        """How many rows were found that nobody wrote, by table."""
        return {table: len(rows) for table, rows in self._shelf.rotten.items()}

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._queue.qsize()

    @property
    def books(self) -> list[Book]:
        """The policies in memory."""
        return [book for _, book in self._shelf.items()]

    # -- what can be asked for -------------------------------------------------------------

    async def create(self, request: CreateRequest) -> PolicyView:
        """Create a policy."""
        return await self._submit(
            None, lambda session: views.policy_view(commands.create(session, request))
        )

    async def policies(self, after: str, limit: int, only: str | None) -> PolicyPage:
        """Return policies in the order of their names.

        Each is loaded in a turn of its own, so that decisions do not wait for all of them.
        """

        def names(reader: Reader) -> list[str]:
            if only is None:
                return [row.name for row in reader.policies(after, limit + 1)]
            return [only] if only > after and reader.find(only) is not None else []

        found = await self._read(names)
        page = PolicyPage(policies=[], next=found[limit - 1] if len(found) > limit else None)
        for name in found[:limit]:
            try:
                page.policies.append(await self.show(name))
            except Problem as problem:
                if not self.reachable:
                    raise
                page.unreadable[name] = problem.reason
        return page

    async def show(self, name: str) -> PolicyView:
        """Return a policy."""
        return await self._see(name, lambda _, book: views.policy_view(book))

    async def change_mode(self, name: str, request: ModeRequest) -> PolicyView:
        """Change a policy's mode."""
        return await self._on(
            name,
            lambda session, book: views.policy_view(
                commands.change_mode(session, book, request.mode)
            ),
        )

    async def archive(self, name: str) -> PolicyView:
        """Archive a policy."""
        return await self._on(
            name, lambda session, book: views.policy_view(commands.archive(session, book))
        )

    async def checkpoint(self, name: str) -> CheckpointAnswer:
        """Report a checkpoint."""
        return await self._on(
            name,
            lambda session, book: CheckpointAnswer(
                checkpoints=commands.report_checkpoint(session, book)
            ),
        )

    async def add_arm(self, name: str, request: ArmRequest) -> ArmAnswer:
        """Add an arm."""
        return await self._on(
            name,
            lambda session, book: ArmAnswer(arm=commands.add_arm(session, book, request)),
        )

    async def retire_arm(self, name: str, arm: str) -> ArmAnswer:
        """Retire an arm."""
        return await self._on(
            name, lambda session, book: ArmAnswer(arm=commands.retire_arm(session, book, arm))
        )

    async def decide(
        self,
        name: str,
        requests: list[DecideRequest],
        batch: bool = False,
        played: Sequence[str] = (),
    ) -> list[Answer]:
        """Decide rounds: all of them, or none; take in first what was played before."""
        return await self._on(
            name, lambda session, book: commands.decide_all(session, book, requests, batch, played)
        )

    async def rewards(
        self,
        name: str,
        requests: list[RewardRequest],
        batch: bool = False,
        played: Sequence[str] = (),
    ) -> list[RewardAnswer]:
        """Take rewards in, and first what was played before."""
        return await self._on(
            name, lambda session, book: outcomes.reward_all(session, book, requests, batch, played)
        )

    async def played(self, name: str, decision: str) -> PlayedAnswer:
        """Take in that a decision's action was played."""
        return await self._on(name, lambda session, book: outcomes.played(session, book, decision))

    async def played_all(self, name: str, decisions: list[str]) -> list[PlayedAnswer]:
        """Take in which decisions' actions were played."""
        return await self._on(
            name, lambda session, book: outcomes.played_all(session, book, decisions)
        )

    async def fallback(
        self, name: str, decision: str, because: Because = "no-answer"
    ) -> FallbackAnswer:
        """Take in that the baseline was played after all."""
        return await self._on(
            name, lambda session, book: outcomes.fall_back(session, book, decision, because)
        )

    # -- what can be looked up -------------------------------------------------------------

    async def decisions(self, name: str, after: int, limit: int) -> DecisionPage:
        """Return decisions page by page."""
        book, number = await self._look(name)
        return await self._read(
            lambda reader: views.decision_page(book, reader, number, after, limit)
        )

    async def budget(self, name: str, after: int, points: int) -> BudgetView:
        """Return the budget, and its margin over time."""
        found = await self._decided(name, after, points)
        return await self._see(name, lambda _, current: views.budget_view(current, found))

    async def estimates(self, name: str, after: int, points: int) -> EstimatesView:
        """Return what is known of the actions, and of chosen ones over time."""
        found = await self._decided(name, after, points)
        return await self._see(name, lambda _, current: views.estimates_view(current, found))

    async def _decided(self, name: str, after: int, points: int) -> list[Decided]:
        """Return decisions after a round, evenly spaced."""
        book, number = await self._look(name)
        found: list[Decided] = []
        for rounds in views.spaced(after + 1, book.policy.round, points):
            found += await self._read(partial(views.decided, number=number, rounds=rounds))
        return found

    async def events(self, name: str, after: int, limit: int) -> list[Row]:
        """Return events of a policy's log."""
        _, number = await self._look(name)
        return await self._read(lambda reader: reader.events(number, after, limit))

    async def note_used(self, used: dict[str, int]) -> None:
        """Store when API keys were last used."""
        await self._submit(None, lambda session: session.log.use_keys(used))

    async def keys(self) -> list[KeyRow]:
        """Return the API keys."""
        rows = await self._read(lambda reader: reader.keys())
        self._shelf.note_rotten("keys", rotten_keys(rows))
        return rows

    async def _look(self, name: str) -> tuple[Book, int]:
        return await self._see(name, lambda look, book: (book, look.number(book)))

    async def _read(self, read: Callable[[Reader], _T]) -> _T:
        """Read beside the writer."""

        def work() -> _T:
            with self._store.reading() as reader:
                return read(reader)

        try:
            return await asyncio.to_thread(work)
        except StoreUnavailable as error:
            self._keeper.note_away(error)
            raise away() from error
        except StoreBroken as error:
            self._break([], error)
            raise away() from error

    # -- the queue -------------------------------------------------------------------------

    def _on(self, name: str, work: Callable[[Session, Book], _T]) -> asyncio.Future[_T]:
        """Submit work on a policy's book."""
        return self._submit(name, lambda session: work(session, session.book(name)))

    def _see(self, name: str, work: Callable[[Look, Book], _T]) -> asyncio.Future[_T]:
        """Submit work on a policy's book that changes nothing."""
        return self._submit(name, lambda look: work(look, look.book(name)), changes=False)

    def _submit(
        self, name: str | None, work: Callable[[Any], _T], *, changes: bool = True
    ) -> asyncio.Future[_T]:
        if not self._open:
            raise Problem(503, "the service is starting or stopping", remedy="try again")
        if self._queue.qsize() >= self.limits.queue:
            raise Problem(503, "too many requests wait", remedy="try again later")
        assert self._loop is not None
        future: asyncio.Future[_T] = self._loop.create_future()
        self._queue.put(Task(name, work, future, CALLER.get(), changes=changes))
        return future

    def _run(self) -> None:
        """Serve batches until told to stop."""
        try:
            while self._turn():
                pass
        except BaseException as error:  # requests would wait for ever, and nobody would know why
            self._break([], error)
        finally:
            self._verifier.stop(_VERIFIER_SECONDS)
            assert self._loop is not None
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(self._ended.set)

    def _turn(self) -> bool:
        """Serve a batch and see to what is due; return whether to go on."""
        batch, last = self._gather()
        self._busy = time.monotonic()
        self._used = set()
        due = time.monotonic() - self._checked >= TRY_SECONDS
        if (last or due) and not self._check(batch):
            return False
        # Who only looks is served apart: also while nothing can be written.
        for changes in (True, False):
            part = [task for task in batch if task.changes == changes]
            if part:
                self._serve(part)
        if self.broken is None:
            try:
                self._keeper.tidy(self._clock(), self._used)
                if last:
                    self._keeper.note_heads()
                    self._keeper.save_all()
            except StoreBroken:
                raise
            except Exception:  # only the next start takes longer
                _LOG.exception("a snapshot could not be taken")
        self._busy = None
        return not last and self.broken is None

    def _check(self, batch: list[Task]) -> bool:
        """Look at the files, whoever asks for whatever; return whether to go on.

        A transaction looks by itself when it is committed. Without one it is to be known soon, too.
        """
        self._checked = time.monotonic()
        try:
            self._store.check()
        except StoreBroken as error:
            self._break(batch, error)
            self._answer(batch)
            return False
        return True

    def _gather(self) -> tuple[list[Task], bool]:
        """Wait for a request; return it with all that wait, and whether it is time to stop."""
        batch: list[Task] = []
        try:
            task = self._queue.get(timeout=TRY_SECONDS)
            while task is not None:
                batch.append(task)
                task = self._queue.get_nowait()
        except Empty:
            return batch, False
        return batch, True

    def _serve(self, batch: list[Task], again: bool = False) -> None:
        try:
            if not batch[0].changes:
                self._look_up(batch)
            elif self._commit(batch):
                self._keeper.note_back()
        except LogMoved as moved:
            self._forget(moved)
            if not again:
                self._serve(batch, again=True)
                return
            if len(batch) > 1:  # one of them is to blame
                for task in batch:
                    self._serve([task], again=True)
                return
            batch[0].outcome = Problem(
                503, f"the database was changed: {moved}", remedy="run handrail audit"
            )
        except StoreUnavailable as error:
            self._keeper.note_away(error)
            for task in batch:
                task.outcome = away()
        except StoreBroken as error:
            self._break(batch, error)
        except Exception:
            if len(batch) == 1:
                batch[0].outcome = mistake(_LOG)
            else:  # one of them is to blame: serve each by itself
                for task in batch:
                    self._serve([task])
                return
        self._answer(batch)

    def _forget(self, moved: LogMoved) -> None:
        """Drop what is in memory, which the database does not bear out: the logs are folded."""
        self.restored += 1
        _LOG.error(
            "the database was restored to an earlier state, or failed over to one, and all state "
            "is folded again from its logs: %s",
            moved,
        )
        self._shelf.clear()

    def _break(self, batch: Iterable[Task], error: BaseException) -> None:
        """Stop for good: what was written may not be on disk, so nothing is acknowledged."""
        _LOG.critical("the service cannot go on, and ends: %s", error, exc_info=error)
        self._open = False
        self.broken = error
        for task in batch:
            task.outcome = away()

    def _commit(self, batch: list[Task]) -> bool:
        """Serve a batch in one transaction; what a failure leaves in memory is dropped.

        Returns whether anything was written: only that shows that the database takes it.
        """
        session: Session | None = None
        started = time.perf_counter()
        try:
            with self._store.writing() as log:
                now = int(self._clock() * 1e6)
                session = Session(log, self._shelf, self.limits, now, shared=self._store.shared)
                session.lock([task.name for task in batch if task.name is not None])
                _work(batch, session)
                session.flush()
        except BaseException:
            if session is not None:
                for name in session.created:
                    self._shelf.forget(name)
                self._drop(session)
            raise
        self._used |= session.used
        self.batches += 1
        self.commit_seconds += time.perf_counter() - started
        return session.wrote

    def _look_up(self, batch: list[Task]) -> None:
        """Serve a batch that changes nothing from what is committed."""
        look: Look | None = None
        try:
            with self._store.reading() as reader:
                look = Look(reader, self._shelf, shared=self._store.shared)
                _work(batch, look)
        except BaseException:
            if look is not None:
                self._drop(look)
            raise
        self._used |= look.used

    def _drop(self, look: Look) -> None:
        for number in look.used:
            self._shelf.drop(number)

    def _answer(self, batch: list[Task]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(resolve, batch)
        except RuntimeError:  # the loop is closed: nobody waits any longer
            _LOG.warning("the service ended before %d answers were given", len(batch))


def _work(batch: Iterable[Task], look: Look) -> None:
    """Do what each task asks for; what is refused is refused to that one only."""
    for task in batch:
        look.by = task.by
        try:
            task.outcome = task.work(look)
        except Problem as problem:
            task.outcome = problem
        except InputError as error:
            task.outcome = from_input(error)
