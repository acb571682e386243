"""What the service takes at most, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of one server; every refusal says which one was met.

    Attributes
    ----------
    body_bytes, batch, dim, arms, candidates, name_length, key_length : int
        Of a request: its size, the rounds or rewards in it, the length of features, the arms of a
        policy, the actions of a round, the length of names and of idempotency keys.
    pending : int
        Rounds of a policy that wait for a reward; beyond that the oldest is closed.
    queue : int
        Requests that wait for the writer.
    connections, head_bytes : int
        Connections that are served at once, and the size of a request's line and headers.
    header_seconds, body_seconds, keep_alive_seconds : float
        How long a connection may take to say what it wants, to send it, and to say the next.
    shutdown_seconds : float
        How long a server that is told to stop answers what is in flight.
    idempotency_seconds : float
        How long an idempotency key is kept.
    snapshot_every : int
        Events after which a snapshot is taken.
    heads_seconds : float
        How often the heads of logs that grew are noted in the service's own log.
    books : int
        Policies kept in memory.
    """

    body_bytes: int = 4 * 2**20
    batch: int = 1_000
    dim: int = 1_000
    arms: int = 10_000
    candidates: int = 10_000
    name_length: int = 100
    key_length: int = 200
    pending: int = 100_000
    queue: int = 10_000
    connections: int = 1_000
    head_bytes: int = 64 * 2**10
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    keep_alive_seconds: float = 75.0
    shutdown_seconds: float = 10.0
    idempotency_seconds: float = 86_400.0
    snapshot_every: int = 10_000
    heads_seconds: float = 60.0
    books: int = 20_000
