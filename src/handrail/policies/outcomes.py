"""What becomes of decisions: rewards, none, or the baseline after all."""

from __future__ import annotations

import threading
from typing import Literal, get_args

from handrail import checks
from handrail.errors import InputError
from handrail.policies.addressing import identify, settled
from handrail.policies.decision import Decision, Origin
from handrail.policies.identity import Identity
from handrail.policies.parameters import Settings
from handrail.policies.state import State

__all__ = ["Because", "Outcomes", "Status"]

Status = Literal[
    "learned",
    "waiting",
    "ignored",
    "late",
    "played",
    "lost",
    "waived",
    "closed",
    "baseline",
    "choice",
]
Because = Literal["no-answer", "choice"]


class Outcomes:
    """The part of a policy that is told what became of its decisions."""

    _settings: Settings
    _state: State
    _origin: Origin
    _lock: threading.Lock
    _tagged = False
    """Whether ids of decisions have a random tag."""

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
            "waiting": it is used when the decision's window closes, or its action is said to be
            played. "ignored": a baseline round, which needs none. "late": the window has closed;
            the reward is dropped, whether or not one had come before.

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
            if self._settings.window is None and not self._state.awaits_word(found):
                return self._state.settle(found, value)
            if found.closed or found.reward is not None:
                raise settled(identity)
            found.reward = value
            return "waiting"

    def played(self, decision: Decision | Identity | str) -> Status:
        """Say that a decision's action was played, apart from its reward.

        With `confirm` and a `default_reward` this is what confirms a round: nobody can tell a
        missing reward from a decision that was never carried out.

        Parameters
        ----------
        decision : Decision, Identity or str
            What `decide` returned, or its id, as text or taken apart.

        Returns
        -------
        {"played", "ignored", "late"}
            "ignored": the policy, or this round, does not ask for it. "late": the window has
            closed, and the round counts as lost.

        Notes
        -----
        Say it for every decision that was carried out, before its reward is known: the promise
        rests on this not depending on the reward.
        """
        with self._lock:
            self._state.check_whole()
            return self._state.played(identify(decision, self._origin.policy))

    def close(self, decision: Decision | str) -> Status:
        """Say that no (further) reward of a decision will come.

        Parameters
        ----------
        decision : Decision or str
            What `decide` returned, or its id.

        Returns
        -------
        {"learned", "waived", "lost", "closed", "ignored", "late"}
            "learned": the default reward was. "waived": there is none, so the round earned the
            lowest reward, and nothing is learned. "lost": its action was never said to be played.
            "closed": it is settled when its window closes. "ignored": a baseline round. "late":
            the window has closed already.
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

    def fall_back(self, decision: Decision | str, because: Because = "no-answer") -> Status:
        """Say that a decision was not carried out: the baseline was played, with `confirm`.

        Parameters
        ----------
        decision : Decision or str
            What `decide` returned, or its id.
        because : {"no-answer", "choice"}, default="no-answer"
            Why: no answer came in time, or somebody who had it chose the baseline.

        Returns
        -------
        {"baseline", "choice", "ignored", "late"}
            "baseline": the round counts as a baseline round from now on; where those are learned
            from, it awaits the baseline's reward, or teaches nothing with a `default_reward`.
            "choice": it stays a round of S and awaits the reward that was earned, which counts and
            teaches nothing. "ignored": it was a baseline round from the start. "late": the window
            has closed, and the round counts as it did.

        Notes
        -----
        A round that becomes a baseline round is credited the baseline's mean. That holds only if
        who got no answer does not depend on the user. Who chooses may well look at the user, for
        whom the baseline may earn less than its mean: where one mean stands for all users, a
        choice earns what it earns, or nothing. Where every round tells its own mean, both reasons
        make a baseline round. A fallback is refused once a reward of its round has come.
        It takes back that the action was played, and that is refused after it: clients say by
        themselves that what they handed out was played, before their caller may know better.

        UCB and LinUCB then await the reward of the baseline's action, and learn nothing where they
        do not know it: without a baseline, or with `dim`.
        """
        checks.one_of("because", because, get_args(Because))
        with self._lock:
            self._state.check_whole()
            identity = identify(decision, self._origin.policy)
            if not self._settings.confirm:
                raise InputError(
                    "confirm",
                    "decisions of this policy count as carried out",
                    "make the policy with confirm=True",
                )
            return self._state.fall_back(identity, because)
