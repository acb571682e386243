"""The client to await."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TypeVar

from handrail.client import calls, deciding
from handrail.client.aio_links import AsyncWire
from handrail.client.aio_operations import AsyncOperations
from handrail.client.calls import Because, DecisionLike
from handrail.client.choice import Ask, Choice, FeaturesLike
from handrail.client.core import Core
from handrail.client.counts import Counts
from handrail.client.handles import AsyncPolicyClient
from handrail.client.reporting import AsyncReporter
from handrail.client.settings import check_settings
from handrail.client.steps import Talk
from handrail.client.unsaid import HandOut
from handrail.service.messages import Action, FallbackAnswer, Mean, PlayedAnswer, RewardAnswer

__all__ = ["AsyncClient"]

T = TypeVar("T")


class AsyncClient(AsyncOperations):
    """`Client` for asyncio: the same calls, to be awaited.

    Parameters
    ----------
    url, key, baselines, timeout, patience, strict, verify, failures, rest, remember,
    connections, say_played
        As for `Client`.

    Notes
    -----
    A call that is cancelled is neither answered nor reported: nobody knows what was played, so the
    service's decision, if there is one, stays unconfirmed. To give up early and play the baseline
    pass `timeout`. One event loop at a time; connections are opened anew in another one. Close the
    client before its loop ends: what was played in the last moment would not be said.

    Examples
    --------
    >>> import asyncio
    >>> async def page():
    ...     async with AsyncClient("http://127.0.0.1:1", baselines={"shop": "current"}) as client:
    ...         return await client.decide("shop")  # nobody listens
    >>> asyncio.run(page()).fallback
    True
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        baselines: Mapping[str, Action] | None = None,
        timeout: float = 0.25,
        patience: float = 10.0,
        strict: bool = False,
        verify: bool | ssl.SSLContext = True,
        failures: int = 5,
        rest: float = 5.0,
        remember: int = 10_000,
        connections: int = 20,
        say_played: bool = True,
    ) -> None:
        self._settings = check_settings(
            url,
            key,
            baselines=baselines,
            timeout=timeout,
            patience=patience,
            strict=strict,
            verify=verify,
            failures=failures,
            rest=rest,
            remember=remember,
            connections=connections,
            say_played=say_played,
        )
        self._core = Core(self._settings)
        self._wire = AsyncWire(self._settings)
        self._reporter = AsyncReporter(self._core, self._tell)
        self._loop: asyncio.AbstractEventLoop | None = None

    def _settle(self) -> None:
        """Belong to the running loop: connections and tasks of another one are of no use here."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                self._wire = AsyncWire(self._settings)
                self._reporter = AsyncReporter(self._core, self._tell)
            self._loop = loop

    async def _run(self, talk: Talk[T]) -> T:
        """Carry a call's requests, and see to what it leaves to be told."""
        self._settle()
        try:
            return await self._carry(talk)
        finally:
            self._reporter.wake()

    async def _carry(self, talk: Talk[T]) -> T:
        outcome = None
        try:
            while True:
                try:
                    request = next(talk) if outcome is None else talk.send(outcome)
                except StopIteration as end:
                    value: T = end.value
                    return value
                outcome = await self._wire.send(request)
        finally:
            talk.close()  # a call that is cancelled puts back what it took along

    async def _tell(self) -> None:
        await self._carry(self._core.tell())

    # -- decide --------------------------------------------------------------------------------

    def policy(self, name: str, *, baseline: Action | None = None) -> AsyncPolicyClient:
        """Return a handle on one policy, with the baseline it falls back to."""
        return AsyncPolicyClient(self, name, baseline)

    async def decide(
        self,
        policy: str,
        *,
        features: FeaturesLike | None = None,
        proposal: Action | None = None,
        baseline: Action | None = None,
        baseline_mean: Mean | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Choice:
        """Decide one round, or fall back to the baseline; see `Client.decide`."""
        ask = Ask(
            features=features,
            proposal=proposal,
            baseline=baseline,
            baseline_mean=baseline_mean,
            idempotency_key=idempotency_key,
        )
        return await self._decide(policy, ask, None, timeout)

    async def decide_many(
        self, policy: str, asks: Sequence[Ask], *, timeout: float | None = None
    ) -> list[Choice]:
        """Decide several rounds; see `Client.decide_many`."""
        return await self._decide_many(policy, asks, None, timeout)

    async def _decide(
        self, policy: str, ask: Ask, baseline: Action | None, timeout: float | None
    ) -> Choice:
        out = HandOut(policy)
        talk = deciding.decide(self._core, policy, ask, baseline, timeout, out)
        return await self._hand_out(talk, out)

    async def _decide_many(
        self, policy: str, asks: Sequence[Ask], baseline: Action | None, timeout: float | None
    ) -> list[Choice]:
        out = HandOut(policy)
        talk = deciding.decide_many(self._core, policy, asks, baseline, timeout, out)
        return await self._hand_out(talk, out)

    async def _hand_out(self, talk: Talk[T], out: HandOut) -> T:
        """Return what a call of decide comes to, and have it told only if it is returned."""
        try:
            value = await self._run(talk)
            # Nothing is called after this: the handler of a signal may raise in any call.
            out.given = True
            return value
        except BaseException:
            out.given = False
            raise

    # -- rewards and fallbacks -----------------------------------------------------------------

    async def reward(
        self,
        policy: str,
        decision: DecisionLike,
        reward: float,
        *,
        timeout: float | None = None,
    ) -> RewardAnswer:
        """Give the reward of one decision; see `Client.reward`."""
        return await self._run(calls.reward(self._core, policy, decision, reward, timeout))

    async def rewards(
        self,
        policy: str,
        batch: Iterable[tuple[DecisionLike, float]],
        *,
        timeout: float | None = None,
    ) -> list[RewardAnswer]:
        """Give several rewards, as pairs; see `Client.rewards`."""
        return await self._run(calls.rewards(self._core, policy, batch, timeout))

    async def played(
        self, policy: str, decision: DecisionLike, *, timeout: float | None = None
    ) -> PlayedAnswer:
        """Say that a decision's action was played; see `Client.played`."""
        return await self._run(calls.played(self._core, policy, decision, timeout))

    async def played_many(
        self, policy: str, decisions: Iterable[DecisionLike], *, timeout: float | None = None
    ) -> list[PlayedAnswer]:
        """Say it of several decisions; see `Client.played_many`."""
        return await self._run(calls.played_many(self._core, policy, decisions, timeout))

    async def fallback(
        self,
        policy: str,
        decision: DecisionLike,
        *,
        because: Because = "no-answer",
        timeout: float | None = None,
    ) -> FallbackAnswer:
        """Say that the baseline was played after all; see `Client.fallback`."""
        return await self._run(calls.fallback(self._core, policy, decision, because, timeout))

    async def flush(self, timeout: float = 5.0) -> bool:
        """Wait until the service knows of all fallbacks and answers played; see `Client.flush`."""
        self._settle()
        return await self._reporter.flush(timeout)

    def counts(self) -> Counts:
        """Return how many rounds were asked for, how many fell back and why."""
        return self._core.counts()

    # -- end -------------------------------------------------------------------------------------

    async def close(self, *, timeout: float = 1.0) -> None:
        """Report what can be reported within a time, then close all connections."""
        self._settle()
        await self._reporter.flush(timeout)
        await self._reporter.close()
        await self._wire.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.url!r})"
