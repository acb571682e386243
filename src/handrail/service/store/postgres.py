"""The log in PostgreSQL: any number of processes serve it, and the database keeps them in order."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

from handrail.service.store.address import Address
from handrail.service.store.postgres_rows import PostgresReader, PostgresWriter
from handrail.service.store.protocol import StoreBroken, StoreUnavailable

__all__ = ["Patience", "PostgresStore", "connect", "judge"]

_IDLE_READERS: Final = 8
"""Read connections that are kept for the next reader."""


class Patience(NamedTuple):
    """How long to wait, in seconds.

    Attributes
    ----------
    idle : float
        PostgreSQL ends a transaction of ours in which nothing happens for so long: a server that
        was paused loses the locks it holds, and can no longer commit what it had in mind.
    lock : float
        For another server that has the policy's lock; longer than `idle`, so that a server that
        was paused costs the others a wait and no error.
    statement : float
        For a statement.
    """

    idle: float = 5.0
    lock: float = 8.0
    statement: float = 15.0


_READING: Final = Patience(idle=600.0, statement=600.0)
"""A reader holds up nobody: an audit may think for a while between two pages."""

# READ COMMITTED is what makes the lock work. Every statement sees what was committed when it
# began, so those after the lock see all that its last holder appended. REPEATABLE READ would take
# its view before the wait for the lock, decide on an old state, and fail when it appends.
_BEGIN_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_CORRUPT: Final = frozenset({"XX001", "XX002"})


class PostgresStore:
    """Tables in PostgreSQL, of the right version; made by `open_store`.

    A connection that failed is thrown away, and the next transaction makes a new one.

    Parameters
    ----------
    address : Address
        Where the database is.
    patience : Patience
        How long to wait when writing.
    """

    shared = True

    def __init__(self, address: Address, patience: Patience = Patience()) -> None:  # noqa: B008
        self._address = address
        self._patience = patience
        self._turn = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._readers: list[psycopg.Connection[Any]] = []
        self._closed = False

    def __repr__(self) -> str:
        return f"PostgresStore({str(self._address)!r})"

    @contextlib.contextmanager
    def writing(self) -> Iterator[PostgresWriter]:
        """Begin a transaction: on disk when the block ends, undone if it raises.

        Notes
        -----
        If the connection is lost while it commits, nobody can tell whether it did. That is
        `StoreUnavailable` too: read the log again before writing more.
        """
        with self._turn:
            try:
                connection = self._connection = self._begin(
                    self._connection, _BEGIN_WRITING, self._patience
                )
                writer = PostgresWriter(connection)
                yield writer
                writer.flush()
                done = connection.execute("COMMIT").statusmessage
            except psycopg.Error as error:
                self._drop_writer()
                raise judge(error) from error
            except BaseException:
                self._undo()
                raise
            if done != "COMMIT":  # what PostgreSQL answers when a statement had failed before
                raise StoreUnavailable("a statement of the transaction had failed")

    @contextlib.contextmanager
    def reading(self) -> Iterator[PostgresReader]:
        """Begin to read, from any thread; what is committed meanwhile is not seen."""
        connection: psycopg.Connection[Any] | None = None
        try:
            with contextlib.suppress(IndexError):
                connection = self._readers.pop()  # of a list, this is safe between threads
            connection = self._begin(connection, _BEGIN_READING, _READING)
            yield PostgresReader(connection)
            connection.execute("COMMIT")
            if len(self._readers) < _IDLE_READERS and not self._closed:
                self._readers.append(connection)
                connection = None
        except psycopg.Error as error:
            raise judge(error) from error
        finally:
            if connection is not None:
                connection.close()

    def check(self) -> None:
        """Do nothing: each transaction looks at the log it appends to."""

    def close(self) -> None:
        """Close all connections."""
        with self._turn:
            self._closed = True
            self._drop_writer()
            while self._readers:
                self._readers.pop().close()

    def _begin(
        self,
        connection: psycopg.Connection[Any] | None,
        begin: LiteralString,
        patience: Patience,
    ) -> psycopg.Connection[Any]:
        """Begin a transaction; a kept connection may be dead, and nothing is lost by a new one."""
        if connection is not None:
            try:
                connection.execute(begin)
                return connection
            except psycopg.Error:
                connection.close()
        connection = connect(self._address, patience)
        connection.execute(begin)
        return connection

    def _undo(self) -> None:
        """Leave the transaction; if that fails, the connection goes, and PostgreSQL undoes it."""
        if self._connection is None:
            return
        try:
            if self._connection.info.transaction_status != TransactionStatus.IDLE:
                self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop_writer()

    def _drop_writer(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def connect(address: Address, patience: Patience) -> psycopg.Connection[Any]:
    """Connect, with the settings that we count on; transactions are begun in plain sight."""
    connection: psycopg.Connection[Any] = psycopg.connect(
        **address.parameters, autocommit=True, prepare_threshold=1
    )
    try:
        connection.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, false),"
            " set_config('lock_timeout', %s, false),"
            " set_config('statement_timeout', %s, false),"
            # A stronger setting of the database's own stays.
            " CASE WHEN current_setting('synchronous_commit') = 'off'"
            " THEN set_config('synchronous_commit', 'on', false) END",
            [f"{seconds * 1000:.0f}ms" for seconds in patience],
        )
    except BaseException:
        connection.close()
        raise
    return connection


def judge(error: psycopg.Error) -> StoreUnavailable | StoreBroken:
    """Return what an error of PostgreSQL's means for the service.

    PostgreSQL itself stops when an fsync fails and starts again from what is on disk; to us that
    is a lost connection. Whatever else it refuses, nothing of the transaction was written.
    """
    text = error.diag.message_primary or str(error).strip().partition("\n")[0]
    if error.sqlstate is not None:
        text = f"{text} ({error.sqlstate})"
    return StoreBroken(text) if error.sqlstate in _CORRUPT else StoreUnavailable(text)
