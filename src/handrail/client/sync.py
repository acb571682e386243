"""The client that waits."""

from __future__ import annotations

import atexit
import os
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Final, TypeVar
from weakref import WeakSet

from handrail.client import calls, deciding
from handrail.client.calls import Because, DecisionLike
from handrail.client.choice import Ask, Choice, FeaturesLike
from handrail.client.core import Core
from handrail.client.counts import Counts
from handrail.client.handles import PolicyClient
from handrail.client.links import Wire
from handrail.client.operations import Operations
from handrail.client.reporting import Reporter
from handrail.client.settings import check_settings
from handrail.client.steps import Talk
from handrail.client.unsaid import HandOut
from handrail.service.messages import Action, FallbackAnswer, Mean, PlayedAnswer, RewardAnswer

__all__ = ["Client"]

T = TypeVar("T")


class Client(Operations):
    """Asks a decision service, and plays the baseline whenever there is no answer.

    `decide` never waits longer than its time-out and never raises because of the service: without
    an answer it returns the caller's baseline with ``fallback=True`` and the error. All other calls
    raise `ServiceError`. Calls from several threads are fine.

    Parameters
    ----------
    url : str
        The service's address; one with a path is fine.
    key : str, optional
        The API key.
    baselines : mapping, optional
        By policy's name, the action to play without an answer.
    timeout : float, default=0.25
        Seconds that `decide` may take in total: name lookup, connection, and the whole answer.
    patience : float, default=10
        Seconds that any other call may take in total, attempts after failures included.
    strict : bool, default=False
        Whether `decide` raises instead of falling back: for tests and staging.
    verify : bool or ssl.SSLContext, default=True
        Whether certificates are checked, or the context that says how.
    failures : int, default=5
        Failures in a row after which `decide` falls back at once for a while.
    rest : float, default=5
        Seconds of that while; then one request at a time tries whether the service is back.
    remember : int, default=10_000
        Fallbacks kept until they are reported, answers kept until they are said to be played, for
        each policy, and answers kept under keys the caller gave.
    connections : int, default=20
        Requests under way at the same time; more wait for their turn, within their time.
    say_played : bool, default=True
        Whether every answer that `decide` returns is said to be played, where the service asks for
        it. False for callers who hand decisions on, and say it with `played`.

    Notes
    -----
    When no answer comes, the service may have decided all the same. Such a round is remembered by
    its idempotency key and reported in the background, so that the service counts it as a round of
    the baseline; until then it counts nothing. Under a key of the caller's own it is not reported:
    another process may have got the answer. Proxies of the environment are not used.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:1", baselines={"shop": "current"})  # nobody listens
    >>> choice = client.decide("shop")
    >>> choice.action, choice.event, choice.fallback
    ('current', 'baseline', True)
    >>> client.reward("shop", choice, 1.0).status
    'ignored'
    >>> client.close()
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
        self._start()
        _CLIENTS.add(self)

    def _start(self) -> None:
        """Make everything that belongs to one process."""
        self._core = Core(self._settings)
        self._wire = Wire(self._settings)
        self._reporter = Reporter(self._core, self._tell)

    def _run(self, talk: Talk[T]) -> T:
        """Carry a call's requests, and see to what it leaves to be told."""
        try:
            return self._carry(talk)
        finally:
            self._reporter.wake()

    def _carry(self, talk: Talk[T]) -> T:
        outcome = None
        try:
            while True:
                try:
                    request = next(talk) if outcome is None else talk.send(outcome)
                except StopIteration as end:
                    value: T = end.value
                    return value
                outcome = self._wire.send(request)
        finally:
            talk.close()  # a call that is interrupted puts back what it took along

    def _tell(self) -> None:
        self._carry(self._core.tell())

    # -- decide --------------------------------------------------------------------------------

    def policy(self, name: str, *, baseline: Action | None = None) -> PolicyClient:
        """Return a handle on one policy, with the baseline it falls back to."""
        return PolicyClient(self, name, baseline)

    def decide(
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
        """Decide one round, or fall back to the baseline.

        Parameters
        ----------
        policy : str
            The policy's name.
        features : rows or mapping
            This round's actions; only for policies made with `dim`.
        proposal : int or str
            The action that the caller's own policy proposes; only for guards.
        baseline : int or str
            This round's baseline: sent to the service, and played without an answer. By default
            the one given to the client is played, and the service knows the one agreed on.
        baseline_mean : float or (float, float)
            Its mean reward this round, where it was not agreed on.
        idempotency_key : str
            Asking again with the same key gives the same answer; by default a new one. Others may
            have the key, too: without an answer under it nothing is reported.
        timeout : float
            Seconds in total; by default the client's.

        Returns
        -------
        Choice
            What to play. With ``fallback=True`` it is the baseline, and `error` says why.

        Raises
        ------
        InputError
            If no baseline is known: then there is nothing to fall back to.
        """
        ask = Ask(
            features=features,
            proposal=proposal,
            baseline=baseline,
            baseline_mean=baseline_mean,
            idempotency_key=idempotency_key,
        )
        return self._decide(policy, ask, None, timeout)

    def decide_many(
        self, policy: str, asks: Sequence[Ask], *, timeout: float | None = None
    ) -> list[Choice]:
        """Decide several rounds in this order: all are answered, or all fall back.

        Parameters
        ----------
        policy : str
            The policy's name.
        asks : sequence of dict
            The arguments of `decide` for each round.
        timeout : float
            Seconds in total; by default the client's.

        Returns
        -------
        list of Choice
            What to play, in the order of the rounds.
        """
        return self._decide_many(policy, asks, None, timeout)

    def _decide(
        self, policy: str, ask: Ask, baseline: Action | None, timeout: float | None
    ) -> Choice:
        out = HandOut(policy)
        talk = deciding.decide(self._core, policy, ask, baseline, timeout, out)
        return self._hand_out(talk, out)

    def _decide_many(
        self, policy: str, asks: Sequence[Ask], baseline: Action | None, timeout: float | None
    ) -> list[Choice]:
        out = HandOut(policy)
        talk = deciding.decide_many(self._core, policy, asks, baseline, timeout, out)
        return self._hand_out(talk, out)

    def _hand_out(self, talk: Talk[T], out: HandOut) -> T:
        """Return what a call of decide comes to, and have it told only if it is returned."""
        try:
            value = self._run(talk)
            # Nothing is called after this: the handler of a signal may raise in any call.
            out.given = True
            return value
        except BaseException:
            out.given = False
            raise

    # -- rewards and fallbacks -----------------------------------------------------------------

    def reward(
        self,
        policy: str,
        decision: DecisionLike,
        reward: float,
        *,
        timeout: float | None = None,
    ) -> RewardAnswer:
        """Give the reward of one decision; repeating the same is fine.

        Parameters
        ----------
        policy : str
            The policy's name.
        decision : Choice or str
            The choice, or the decision's id. After a fallback nothing is sent.
        reward : float
            The reward.
        timeout : float
            Seconds in total, attempts after failures included; by default the client's patience.

        Returns
        -------
        RewardAnswer
            What became of it; its `status` is "ignored" after a fallback.

        Raises
        ------
        ServiceError
            If the service refuses it, or cannot be reached (`NoAnswer`).
        """
        return self._run(calls.reward(self._core, policy, decision, reward, timeout))

    def rewards(
        self,
        policy: str,
        batch: Iterable[tuple[DecisionLike, float]],
        *,
        timeout: float | None = None,
    ) -> list[RewardAnswer]:
        """Give several rewards, as pairs; each has an answer of its own, in their order."""
        return self._run(calls.rewards(self._core, policy, batch, timeout))

    def played(
        self, policy: str, decision: DecisionLike, *, timeout: float | None = None
    ) -> PlayedAnswer:
        """Say that a decision's action was played, before its reward is known.

        The client says so by itself of every answer that `decide` returned; this is for decisions
        that were handed on, with ``say_played=False``. Saying it twice is fine.

        Parameters
        ----------
        policy : str
            The policy's name.
        decision : Choice or str
            The choice, or the decision's id. After a fallback nothing is sent.
        timeout : float
            Seconds in total, attempts after failures included; by default the client's patience.

        Returns
        -------
        PlayedAnswer
            What became of it; its `status` is "fallback" after a fallback.

        Raises
        ------
        ServiceError
            If the service refuses it, or cannot be reached (`NoAnswer`).
        """
        return self._run(calls.played(self._core, policy, decision, timeout))

    def played_many(
        self, policy: str, decisions: Iterable[DecisionLike], *, timeout: float | None = None
    ) -> list[PlayedAnswer]:
        """Say it of several decisions; each has an answer of its own, in their order."""
        return self._run(calls.played_many(self._core, policy, decisions, timeout))

    def fallback(
        self,
        policy: str,
        decision: DecisionLike,
        *,
        because: Because = "no-answer",
        timeout: float | None = None,
    ) -> FallbackAnswer:
        """Say that the baseline was played after all; fallbacks of `decide` report themselves.

        Parameters
        ----------
        policy : str
            The policy's name.
        decision : Choice or str
            The choice, the decision's id, or ``key:`` and an idempotency key. After a choice that
            is a fallback of `decide` nothing is sent.
        because : {"no-answer", "choice"}, default="no-answer"
            "no-answer" where the answer could not be carried out, which must have nothing to do
            with the user; "choice" where somebody, or some rule, preferred the baseline.
        timeout : float
            Seconds in total, attempts after failures included; by default the client's patience.

        Returns
        -------
        FallbackAnswer
            What became of it.

        Raises
        ------
        ServiceError
            If the service refuses it, or cannot be reached (`NoAnswer`).
        """
        return self._run(calls.fallback(self._core, policy, decision, because, timeout))

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until the service knows of all fallbacks and all answers played; say whether.

        A fallback that may still be on its way to the service takes half a minute to be settled.
        """
        return self._reporter.flush(timeout)

    def counts(self) -> Counts:
        """Return how many rounds were asked for, how many fell back and why."""
        return self._core.counts()

    # -- end -------------------------------------------------------------------------------------

    def close(self, *, timeout: float = 1.0) -> None:
        """Report what can be reported within a time, then close all connections."""
        self._reporter.flush(timeout)
        self._reporter.close()
        self._wire.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.url!r})"


_CLIENTS: WeakSet[Client] = WeakSet()
_AT_EXIT: Final = 1.0
"""Seconds that the end of a program may take for what was played."""


def _at_exit() -> None:
    """Say what was played: else only rounds with rewards, which take it along, would be said."""
    end = time.monotonic() + _AT_EXIT
    for client in list(_CLIENTS):
        if client._core.unsaid:
            client._reporter.flush(end - time.monotonic())


atexit.register(_at_exit)


def _after_fork() -> None:
    """Start anew in a child: two processes on one connection would read each other's answers."""
    for client in list(_CLIENTS):
        client._start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
