"""A policy and its guard in one: select and update, as the policy alone has them."""

from __future__ import annotations

from typing import Any, Final

from handrail.errors import InputError
from handrail.policies.decision import Decision
from handrail.policies.names import Action
from handrail.policies.policy import Policy

__all__ = ["Guarded"]

_MINE: Final = ("policy", "proposed policy")
"""What the wrapped policy is called where the guard is asked about policies; the second where the
baseline has the first name: a proposal of the baseline's name is the baseline."""
_THEIRS: Final = "baseline"
_NOT_GIVEN: Final[Any] = object()


class Guarded:
    """Any policy with ``select`` and ``update``, kept safe by a guard.

    Parameters
    ----------
    policy : object
        With ``select()``, which returns an action, and ``update(action, reward)``; or
        ``select(context)`` and ``update(action, reward, context)``.
    guard : Policy
        From `handrail.guard`.
    population : bool, default=False
        Whether only a population mean of the baseline is known while contexts vary. Then the
        guard is asked whether the policy may act, not whether an action may be played: see the
        Notes of `handrail.guard`.

    Attributes
    ----------
    decision : Decision or None
        The guard's latest answer.

    Notes
    -----
    The policy learns from every round, also from those in which the baseline was played instead of
    what it proposed: its ``update`` is told what was played. A policy that weighs rewards by the
    probability of its own choice (EXP3) would have to know of it.

    Examples
    --------
    >>> import handrail
    >>> from handrail.simulation.proposers.thompson import Thompson
    >>> watch = handrail.guard(baseline=0, baseline_mean=0.5, alpha=0.2, delta=0.05,
    ...                        reward_range=(0, 1))
    >>> safe = Guarded(Thompson(arms=3, seed=0), watch)
    >>> arm = safe.select()
    >>> safe.update(arm, reward=1.0)
    >>> safe.decision.action == arm
    True
    """

    def __init__(self, policy: Any, guard: Policy, *, population: bool = False) -> None:
        for method in ("select", "update"):
            if not callable(getattr(policy, method, None)):
                raise InputError("policy", f"has no {method}()", "wrap it in a class that has")
        if not isinstance(guard, Policy) or guard.algorithm.selection != "proposal":
            raise InputError("guard", f"{guard!r} is no guard", "make one with handrail.guard")
        self.policy = policy
        self.guard = guard
        self.decision: Decision | None = None
        self._population = population

    def select(
        self,
        context: Any = _NOT_GIVEN,
        *,
        baseline: Action | None = None,
        baseline_mean: float | tuple[float, float] | None = None,
    ) -> Any:
        """Return the action to play: the policy's, or the baseline's.

        Parameters
        ----------
        context : object, optional
            Handed on to the policy as it is.
        baseline, baseline_mean
            As for ``decide`` of a guard: this round's baseline, where it is not the one given to
            the guard, and its mean, which another baseline than the agreed one must have; where
            the agreed one's is learned, no other is taken.

        Returns
        -------
        int or str
            The action.
        """
        chosen = baseline if baseline is not None else self.guard.parameters.get("baseline")
        if chosen is None:
            raise InputError("baseline", "is not known for this round", "pass baseline=action")
        proposal = self.policy.select(*_given(context))
        names: dict[str, Any] = {"proposal": proposal, "baseline": chosen}
        if self._population:
            # Another baseline than the agreed one has another mean, which the guard asks for.
            theirs = chosen if "baseline" in self.guard.parameters else _THEIRS
            names = {"proposal": _MINE[theirs == _MINE[0]], "baseline": theirs}
        self.decision = self.guard.decide(**names, baseline_mean=baseline_mean)
        if not self._population:
            return self.decision.action
        return chosen if self.decision.event == "baseline" else proposal

    def update(
        self,
        action: Any,
        reward: float,
        context: Any = _NOT_GIVEN,
        *,
        decision: Decision | str | None = None,
    ) -> None:
        """Let the guard and the policy learn from a reward.

        Parameters
        ----------
        action : int or str
            What was played.
        reward : float
            Its reward.
        context : object, optional
            As given to ``select``.
        decision : Decision or str, optional
            The guard's answer that it belongs to, or its id, where the reward comes late; by
            default the latest.
        """
        answer: Any = self.decision if decision is None else decision
        if answer is None:
            raise InputError("decision", "there is none yet", "call select() first")
        named = isinstance(answer, Decision) and not self._population
        if named and action != answer.action:
            raise InputError(
                "action",
                f"{action!r} is not {answer.action!r}, which was to be played",
                "play what select() returns",
            )
        self.guard.learn(answer, reward)
        self.policy.update(action, reward, *_given(context))


def _given(context: Any) -> tuple[Any, ...]:
    return () if context is _NOT_GIVEN else (context,)
