"""One policy of a client, with the baseline it falls back to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from handrail.client.calls import Because, DecisionLike
from handrail.client.choice import Ask, Choice, FeaturesLike
from handrail.service.messages import Action, FallbackAnswer, Mean, PlayedAnswer, RewardAnswer
from handrail.service.shown import PolicyView

if TYPE_CHECKING:
    from handrail.client.aio import AsyncClient
    from handrail.client.sync import Client

__all__ = ["AsyncPolicyClient", "PolicyClient"]


class PolicyClient:
    """What `Client.policy` returns: its calls without the policy's name.

    Parameters
    ----------
    client : Client
        The client.
    name : str
        The policy's name.
    baseline : int or str, optional
        What to play without an answer; not sent to the service.
    """

    def __init__(self, client: Client, name: str, baseline: Action | None) -> None:
        self._client = client
        self.name = name
        self.baseline = baseline

    def decide(
        self,
        *,
        features: FeaturesLike | None = None,
        proposal: Action | None = None,
        baseline: Action | None = None,
        baseline_mean: Mean | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Choice:
        """Decide one round; see `Client.decide`."""
        ask = Ask(
            features=features,
            proposal=proposal,
            baseline=baseline,
            baseline_mean=baseline_mean,
            idempotency_key=idempotency_key,
        )
        return self._client._decide(self.name, ask, self.baseline, timeout)

    def decide_many(self, asks: Sequence[Ask], *, timeout: float | None = None) -> list[Choice]:
        """Decide several rounds; see `Client.decide_many`."""
        return self._client._decide_many(self.name, asks, self.baseline, timeout)

    def reward(
        self, decision: DecisionLike, reward: float, *, timeout: float | None = None
    ) -> RewardAnswer:
        """Give one reward; see `Client.reward`."""
        return self._client.reward(self.name, decision, reward, timeout=timeout)

    def rewards(
        self, batch: Iterable[tuple[DecisionLike, float]], *, timeout: float | None = None
    ) -> list[RewardAnswer]:
        """Give several rewards; see `Client.rewards`."""
        return self._client.rewards(self.name, batch, timeout=timeout)

    def played(self, decision: DecisionLike, *, timeout: float | None = None) -> PlayedAnswer:
        """Say that a decision's action was played; see `Client.played`."""
        return self._client.played(self.name, decision, timeout=timeout)

    def played_many(
        self, decisions: Iterable[DecisionLike], *, timeout: float | None = None
    ) -> list[PlayedAnswer]:
        """Say it of several decisions; see `Client.played_many`."""
        return self._client.played_many(self.name, decisions, timeout=timeout)

    def fallback(
        self,
        decision: DecisionLike,
        *,
        because: Because = "no-answer",
        timeout: float | None = None,
    ) -> FallbackAnswer:
        """Say that the baseline was played after all; see `Client.fallback`."""
        return self._client.fallback(self.name, decision, because=because, timeout=timeout)

    def show(self) -> PolicyView:
        """Return the policy as it is now."""
        return self._client.show(self.name)


class AsyncPolicyClient:
    """What `AsyncClient.policy` returns: its calls without the policy's name.

    Parameters
    ----------
    client : AsyncClient
        The client.
    name : str
        The policy's name.
    baseline : int or str, optional
        What to play without an answer; not sent to the service.
    """

    def __init__(self, client: AsyncClient, name: str, baseline: Action | None) -> None:
        self._client = client
        self.name = name
        self.baseline = baseline

    async def decide(
        self,
        *,
        features: FeaturesLike | None = None,
        proposal: Action | None = None,
        baseline: Action | None = None,
        baseline_mean: Mean | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Choice:
        """Decide one round; see `Client.decide`."""
        ask = Ask(
            features=features,
            proposal=proposal,
            baseline=baseline,
            baseline_mean=baseline_mean,
            idempotency_key=idempotency_key,
        )
        return await self._client._decide(self.name, ask, self.baseline, timeout)

    async def decide_many(
        self, asks: Sequence[Ask], *, timeout: float | None = None
    ) -> list[Choice]:
        """Decide several rounds; see `Client.decide_many`."""
        return await self._client._decide_many(self.name, asks, self.baseline, timeout)

    async def reward(
        self, decision: DecisionLike, reward: float, *, timeout: float | None = None
    ) -> RewardAnswer:
        """Give one reward; see `Client.reward`."""
        return await self._client.reward(self.name, decision, reward, timeout=timeout)

    async def rewards(
        self, batch: Iterable[tuple[DecisionLike, float]], *, timeout: float | None = None
    ) -> list[RewardAnswer]:
        """Give several rewards; see `Client.rewards`."""
        return await self._client.rewards(self.name, batch, timeout=timeout)

    async def played(self, decision: DecisionLike, *, timeout: float | None = None) -> PlayedAnswer:
        """Say that a decision's action was played; see `Client.played`."""
        return await self._client.played(self.name, decision, timeout=timeout)

    async def played_many(
        self, decisions: Iterable[DecisionLike], *, timeout: float | None = None
    ) -> list[PlayedAnswer]:
        """Say it of several decisions; see `Client.played_many`."""
        return await self._client.played_many(self.name, decisions, timeout=timeout)

    async def fallback(
        self,
        decision: DecisionLike,
        *,
        because: Because = "no-answer",
        timeout: float | None = None,
    ) -> FallbackAnswer:
        """Say that the baseline was played after all; see `Client.fallback`."""
        return await self._client.fallback(self.name, decision, because=because, timeout=timeout)

    async def show(self) -> PolicyView:
        """Return the policy as it is now."""
        return await self._client.show(self.name)
