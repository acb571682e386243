"""What becomes of decisions: rewards, none, or the baseline after all."""

from __future__ import annotations

import threading
from typing import Literal

from handrail.errors import InputError
from handrail.policies.addressing import identify, settled
from handrail.policies.decision import Decision, Origin
from handrail.policies.identity import Identity
from handrail.policies.parameters import Settings
from handrail.policies.state import State

__all__ = ["Outcomes", "Status"]

Status = Literal["learned", "waiting", "ignored", "late", "waived", "closed", "baseline"]


class Outcomes:
    """The part of a policy that is told what became of its decisions."""

    _settings: Settings
    _state: State
    _origin: Origin
    _lock: threading.Lock

    def learn(self, decision: Decision | Identity | str, reward: float) -> Status:
        """Take the reward of a decision into account, whenever it comes.

        Parameters
        ----------
        decision : Decision, Identity or str
            What `decide` returned, or its id, as text or taken apart.
        reward : float
            The reward.

        Returns
        -------
        {"learned", "waiting", "ignored", "late"}
            "waiting": it is used when the decision's window closes. "ignored": a baseline round,
            which needs none. "late": the window has closed; the reward is dropped, whether or not
            one had come before.

        Notes
        -----
        Without a `window` the reward is used now. That is sound if, given everything known now,
        rewards of later rounds included, its mean is still the action's: late and out of order is
        fine where delays are independent of rewards and noise is independent across rounds. With a
        `window` rewards are used in the order of decisions, whatever order they come in.
        """
        with self._lock:
            self._state.check_whole()
            identity = identify(decision, self._origin.policy)
            value = self._settings.units.reward("reward", reward)
            found = self._state.find(identity)
            if isinstance(found, str):
                return found
            if self._settings.window is None:
                return self._state.settle(found, value)
            if found.closed or found.reward is not None:
                raise settled(identity)
            found.reward = value
            return "waiting"

    def close(self, decision: Decision | str) -> Status:
        """Say that no (further) reward of a decision will come.

        Parameters
        ----------
        decision : Decision or str
            What `decide` returned, or its id.

        Returns
        -------
        {"learned", "waived", "closed", "ignored", "late"}
            "learned": the default reward was. "waived": there is none, so the round counts by
            its lower bound for good. "closed": it is settled when its window closes. "ignored":
            a baseline round. "late": the window has closed already.
        """
        with self._lock:
            self._state.check_whole()
            found = self._state.find(identify(decision, self._origin.policy))
            if isinstance(found, str):
                return found
            if self._settings.window is not None:
                found.closed = True
                return "closed"
            return self._state.settle(found)

    def fall_back(self, decision: Decision | str) -> Status:
        """Say that a decision was not carried out: the baseline was played, with `confirm`.

        Parameters
        ----------
        decision : Decision or str
            What `decide` returned, or its id.

        Returns
        -------
        {"baseline", "ignored", "late"}
            "baseline": the round counts as a baseline round from now on; where those are learned
            from, it awaits the baseline's reward. "ignored": it was one from the start. "late": the
            window has closed, and the round counts as it did.

        Notes
        -----
        UCB and LinUCB then await the reward of the baseline's action, and learn nothing where they
        do not know it: without a baseline, or with `dim`.
        """
        with self._lock:
            self._state.check_whole()
            identity = identify(decision, self._origin.policy)
            if not self._settings.confirm:
                raise InputError(
                    "confirm",
                    "decisions of this policy count as carried out",
                    "make the policy with confirm=True",
                )
            return self._state.fall_back(identity)
