"""What a log asks of a policy: to count rounds from it, and to say what their numbers had to be."""

from __future__ import annotations

import math

from handrail.errors import InputError
from handrail.policies.identity import POLICY_NAME, Identity, decision_id
from handrail.policies.outcomes import Outcomes
from handrail.policies.played import Examined, Played

__all__ = ["Logged"]


class Logged(Outcomes):
    """The part of a policy that is there for logs of its rounds."""

    def _become(self, name: str) -> None:
        raise NotImplementedError

    def take_name(self, name: str) -> None:
        """Go by a name that a log knows this policy by; ids of decisions begin with it.

        From now on they also have a random tag each: who reports on decisions of a log may be a
        stranger to the one who asked for them.

        Parameters
        ----------
        name : str
            16 hexadecimal digits.
        """
        if POLICY_NAME.fullmatch(name) is None:
            raise InputError("name", f"{name!r} is no policy's name", "pass 16 hexadecimal digits")
        self._become(name)
        self._tagged = True

    def replay(self, played: Played) -> None:
        """Count a round that was decided before, as `decide` did, without deciding again.

        Parameters
        ----------
        played : Played
            What a log holds of it. With the same parameters, rounds and rewards in the same order
            the policy has the same state, bit for bit.
        """
        with self._lock:
            self._state.check_whole()
            self._state.replay(played)

    def waiting_id(self, number: int) -> str | None:
        """Return the id of a round that waits for its reward; None if it does not.

        Parameters
        ----------
        number : int
            The round.
        """
        found = self._state.open.get(number)
        if found is None:
            return None
        return decision_id(Identity(self._origin.policy, found.token, number, True))

    def oldest_waiting(self) -> int:
        """Return the round that has waited longest for its reward; one must wait."""
        return next(iter(self._state.open))

    def waits(self, identity: Identity) -> bool:
        """Say whether a decision waits for its reward.

        Parameters
        ----------
        identity : Identity
            What its id says.
        """
        found = self._state.open.get(identity.round)
        return found is not None and found.token == identity.copy

    def said_played(self, number: int) -> bool:
        """Say whether the action of a round that waits was said to be played.

        Parameters
        ----------
        number : int
            A round that waits.
        """
        return self._state.open[number].said

    def fell_back(self, number: int) -> bool:
        """Say whether a fallback was reported of a round that waits.

        Parameters
        ----------
        number : int
            A round that waits.
        """
        return bool(self._state.open[number].fallen)

    def waiting_reward(self, number: int) -> float | None:
        """Return a reward that waits for its window to close, in inner units.

        Parameters
        ----------
        number : int
            A round that waits.
        """
        return self._state.open[number].reward

    def examine(self, played: Played) -> Examined:
        """Compute what the numbers of the coming round have to be if it was played so.

        Parameters
        ----------
        played : Played
            The round, not replayed yet.

        Returns
        -------
        Examined
            Margin and bounds of the action that was played, and what the ledger counts of it.
            Nothing is changed.

        Notes
        -----
        Whether an action is safe does not depend on the other actions of its round, so that a log
        need not hold them.
        """
        with self._lock:
            self._state.check_whole()
            found = self._state.examine(played)
        units = self._settings.units
        margin = found.margin
        promised = (
            margin is not None and not math.isnan(margin) and self._settings.algorithm.conservative
        )
        return found._replace(
            margin=margin * units.scale if promised and margin is not None else None,
            upper=units.outward(found.upper),
            lower=units.outward(found.lower),
        )
