"""A load on servers, and a ledger of all that was asked and answered."""

from __future__ import annotations

import http.client
import itertools
import random
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from service_processes import Asker, Reply, Server, until

__all__ = ["POLICIES", "Call", "Ledger", "Load", "create_policies"]

_COMMON: dict[str, Any] = {"alpha": 0.6, "delta": 0.1, "reward_range": [0.0, 1.0]}
_ROWS = [[0.5, 0.1], [0.1, 0.5], [0.3, 0.3], [0.4, 0.2]]

POLICIES: dict[str, dict[str, Any]] = {
    "arms": {
        **_COMMON,
        "algorithm": "HANDRAIL",
        "arms": ["red", "green", "blue"],
        "baseline": "green",
        "baseline_mean": 0.4,
    },
    "window": {
        **_COMMON,
        "algorithm": "CUCB",
        "arms": 3,
        "baseline": 0,
        "baseline_mean": "learned",
        "window": 20,
        "default_reward": 0.0,
    },
    "fixed": {
        **_COMMON,
        "algorithm": "LinHANDRAIL",
        "features": _ROWS,
        "theta_bound": 1.0,
        "baseline": 1,
        "baseline_mean": 0.4,
    },
    "contexts": {
        **_COMMON,
        "algorithm": "CLUCB2",
        "dim": 2,
        "theta_bound": 4.0,
        "feature_bound": 1.0,
        "keep_candidates": True,
    },
    "guard": {**_COMMON, "algorithm": "GUARD", "baseline": "old", "baseline_mean": 0.4},
}
"""Policies of all kinds; generous, so that they explore early."""

LOST = (OSError, http.client.HTTPException)
"""What happens to a request that gets no answer."""


@dataclass
class Call:
    """A request that was sent, and what it was answered."""

    kind: str
    policy: str
    path: str
    body: dict[str, Any]
    lost: int = 0
    """How often it got no answer, or one that left open what became of it."""
    answer: dict[str, Any] | None = None

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The rounds of a decide."""
        rounds: list[dict[str, Any]] = self.body.get("requests", [self.body])
        return rounds

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The answers of a decide, if there are any yet."""
        if self.answer is None:
            return []
        answers: list[dict[str, Any]] = self.answer.get("decisions", [self.answer])
        return answers

    @property
    def status(self) -> str | None:
        """What became of a reward or a fallback, if that is known."""
        return None if self.answer is None else self.answer["status"]

    @property
    def keys(self) -> list[str]:
        """The idempotency keys of a decide: all of its rounds have one, or none has."""
        return [each["idempotency_key"] for each in self.requests if "idempotency_key" in each]

    @property
    def repeatable(self) -> bool:
        """Whether asking again does no harm."""
        return self.kind != "decide" or bool(self.keys)

    def settle(self, reply: Reply) -> None:
        """Take in the answer, which has to make sense."""
        created = self.kind == "create" and reply.status in (201, 409 if self.lost else 201)
        assert reply.status == 200 or created, (self, reply)
        self.answer = reply.json()
        if self.kind == "reward":
            given = ("learned", "waiting", "ignored", "late")
            allowed = (*given, "repeated") if self.lost else given
            assert self.status in allowed, self
        elif self.kind == "decide" and not self.lost:
            assert not any(each["repeated"] for each in self.answers), self


@dataclass
class Ledger:
    """All calls of all loads on a database."""

    calls: list[Call] = field(default_factory=list)

    def of(self, kind: str, policy: str | None = None) -> Iterator[Call]:
        """Return the calls of a kind, of all policies or one."""
        return (call for call in self.calls if call.kind == kind and policy in (None, call.policy))

    @property
    def open(self) -> list[Call]:
        """Calls that were not answered."""
        return [call for call in self.calls if call.answer is None]

    def is_refused(self, asker: Asker) -> bool:
        """Ask for decisions, and say whether the server cannot answer now, in due form."""
        rounds = [{"idempotency_key": f"asked-{len(self.calls)}-{i}"} for i in range(100)]
        call = Call("decide", "arms", "/v1/policies/arms/decide", {"requests": rounds})
        self.calls.append(call)
        reply = asker.ask("POST", call.path, call.body)
        if reply.status == 503:
            assert (reply.is_problem, reply.retry_after) == (True, "1")
            call.lost += 1
            return True
        call.settle(reply)
        return False

    @property
    def answered(self) -> Ledger:
        """The same, without what was not answered."""
        return Ledger([call for call in self.calls if call.answer is not None])

    @property
    def policies(self) -> list[str]:
        """Policies that there are for sure."""
        made = [call.policy for call in self.of("create") if call.answer is not None]
        return [*POLICIES, *made]


def create_policies(server: Server) -> None:
    """Make the policies that loads work on."""
    with server.asker() as asker:
        for name, definition in POLICIES.items():
            asker.post("/v1/policies", {"name": name, **definition}, 201)


class Load:
    """Threads that decide, reward and fall back, each with a connection to its home.

    Parameters
    ----------
    servers : sequence of Server
        Where requests go; worker i is at home at the i-th of them, counted round and round.
    ledger : Ledger
        Takes the calls in when the load ends.
    seed : str
        What the workers' choices depend on.
    workers : int
        How many.
    patient : bool
        Whether a worker tries elsewhere what got no answer; otherwise it ends there and then.
    refusable : bool
        Whether a server may say that it cannot answer now; if workers are patient it may.
    timeout : float
        Seconds after which a worker gives an answer up.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        ledger: Ledger,
        seed: str,
        workers: int = 4,
        patient: bool = False,
        refusable: bool = False,
        timeout: float = 60.0,
    ) -> None:
        self._ledger = ledger
        self._over = threading.Event()
        self.workers = [
            _Worker(
                f"{seed}-{i}",
                [servers[(i + j) % len(servers)] for j in range(len(servers))],
                patient,
                refusable or patient,
                timeout,
                self._over,
            )
            for i in range(workers)
        ]

    def __enter__(self) -> Load:
        for worker in self.workers:
            worker.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Let the workers finish what they do, and take in their calls."""
        self._over.set()
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.thread.join()
            self._ledger.calls += worker.calls
        for worker in workers:
            if worker.failed is not None:
                raise worker.failed

    def answered(self, policy: str | None = None, home: int | None = None) -> int:
        """Return how many requests were answered so far: on a policy, by a server, or at all."""
        return sum(
            count
            for worker in self.workers
            for (name, server), count in list(worker.answered.items())
            if policy in (None, name) and home in (None, id(server))
        )

    def refused(self, server: Server) -> int:
        """Return how often a server said that it cannot answer now."""
        return sum(worker.refused.get(server, 0) for worker in self.workers)

    def until_answered(
        self, more: int, policies: Iterable[str | None] = (None,), server: Server | None = None
    ) -> None:
        """Wait until so many more requests are answered: on each policy, by one server, or all."""
        home = None if server is None else id(server)
        for policy in policies:
            aim = self.answered(policy, home) + more
            until(
                f"{aim} answers on {policy or 'all policies'}",
                lambda policy=policy, aim=aim: (
                    self._alive()  # type: ignore[misc]
                    and self.answered(policy, home) >= aim
                ),
                120.0,
            )

    def _alive(self) -> bool:
        for worker in self.workers:
            if worker.failed is not None:
                raise worker.failed
        return True


class _Worker:
    def __init__(
        self,
        seed: str,
        servers: list[Server],
        patient: bool,
        refusable: bool,
        timeout: float,
        over: threading.Event,
    ) -> None:
        self._rng = random.Random(seed)
        self._servers = servers
        self._askers = [Asker(server.url, server.key, timeout) for server in servers]
        self._patient = patient
        self._refusable = refusable
        self._over = over
        self._names = (f"{seed}-{i}" for i in itertools.count())
        self._waiting: list[tuple[str, str]] = []
        self._made: list[str] = []
        self.calls: list[Call] = []
        self.answered: dict[tuple[str, Server], int] = {}
        self.refused: dict[Server, int] = {}
        self.failed: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=seed, daemon=True)

    def _run(self) -> None:
        try:
            while not self._over.is_set() and self._step():
                pass
        except BaseException as error:
            self.failed = error
        finally:
            for asker in self._askers:
                asker.close()

    def _step(self) -> bool:
        """Do something; return whether to go on."""
        rng = self._rng
        draw = rng.random()
        if draw < 0.005:
            name = next(self._names)
            body = {"name": name, **POLICIES[rng.choice(["arms", "fixed"])]}
            done = self._call(Call("create", name, "/v1/policies", body))
            if done:
                self._made.append(name)
            return done or self._patient
        if self._waiting and draw < 0.45:
            policy, decision = self._waiting.pop(rng.randrange(len(self._waiting)))
            return self._outcome(policy, decision) or self._patient
        return self._decide() or self._patient

    def _outcome(self, policy: str, decision: str) -> bool:
        rng = self._rng
        if rng.random() < 0.15:
            path = f"/v1/policies/{policy}/decisions/{decision}/fallback"
            return self._call(Call("fallback", policy, path, {}))
        body = {"decision": decision, "reward": rng.random()}
        path = f"/v1/policies/{policy}/rewards"
        if not self._call(Call("reward", policy, path, body)):
            return False
        again = self.calls[-1]
        if rng.random() < 0.1 and again.answer is not None:
            self._repeat(again)
        return True

    def _repeat(self, call: Call) -> None:
        """Give the same reward again, and another one."""
        after = "repeated" if call.status in ("learned", "waiting") else call.status
        try:
            same = self._askers[0].ask("POST", call.path, call.body)
            other = self._askers[0].ask("POST", call.path, {**call.body, "reward": 2 / 3})
        except LOST:
            return
        if same.status != 503:
            assert same.json()["status"] == after, (call, same)
        if other.status != 503:
            assert other.status == (409 if after == "repeated" else 200), (call, other)

    def _decide(self) -> bool:
        rng = self._rng
        policy = rng.choice([*POLICIES, *self._made])
        keyed = rng.random() < 0.5
        rounds = [self._round(policy, keyed) for _ in range(rng.choice([1, 1, 1, 3]))]
        body = rounds[0] if len(rounds) == 1 else {"requests": rounds}
        call = Call("decide", policy, f"/v1/policies/{policy}/decide", body)
        done = self._call(call)
        self._waiting += [(policy, each["id"]) for each in call.answers if rng.random() < 0.8]
        return done

    def _round(self, policy: str, keyed: bool) -> dict[str, Any]:
        rng = self._rng
        body: dict[str, Any] = {}
        if policy == "guard":
            body = {"proposal": rng.choice(["new", "newer"])}
        elif policy == "contexts":
            rows = [[rng.uniform(0.1, 0.6) for _ in range(2)] for _ in range(3)]
            named = dict(zip("abc", rows, strict=True))
            body = {"features": rng.choice([rows, named]), "baseline_mean": 0.4}
            body["baseline"] = 1 if body["features"] is rows else "b"
        return {**body, "idempotency_key": next(self._names)} if keyed else body

    def _call(self, call: Call) -> bool:
        """Ask, at home and elsewhere if need be; return whether it was answered."""
        self.calls.append(call)
        for server, asker in itertools.cycle(zip(self._servers, self._askers, strict=True)):
            try:
                reply = asker.ask("POST", call.path, call.body)
            except LOST:
                call.lost += 1
            else:
                if reply.status != 503:
                    call.settle(reply)
                    where = call.policy, server
                    self.answered[where] = self.answered.get(where, 0) + 1
                    return True
                assert reply.is_problem, reply
                assert self._refusable, reply
                self.refused[server] = self.refused.get(server, 0) + 1
                call.lost += 1
            if not (self._patient and call.repeatable) or self._over.is_set():
                return False
        return False
