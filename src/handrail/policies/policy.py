"""Policy: decide, learn, explain, close, save."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from handrail import checks, files
from handrail.conservative.baseline import FROM_REWARDS
from handrail.policies import storage
from handrail.policies.algorithm import Algorithm
from handrail.policies.decision import Decision, Origin
from handrail.policies.defaults import DEFAULTS, FILLED_IN, resolved_parameters
from handrail.policies.identity import POLICY_NAME, new_name, process
from handrail.policies.logged import Logged
from handrail.policies.names import Action
from handrail.policies.parameters import EDITION, Settings, settle
from handrail.policies.rounds import Round, check_possible, check_round
from handrail.policies.state import State

__all__ = ["Policy"]


class Policy(Logged):
    """An algorithm at work: one decision a round, rewards as they come.

    Made by `handrail.make_policy`, or read from a file by `handrail.load_policy`. Calls from
    several threads are served one after the other.

    Parameters
    ----------
    algorithm : Algorithm
        The row of parts.
    parameters : mapping
        The parameters of `make_policy`.
    filled_in : mapping, optional
        What an earlier release took for parameters that were not given, as
        `handrail.policies.defaults.resolved_parameters` has it; by default this release's choice.
    edition : int, optional
        Of the rules for lost decisions and missing rewards: 1 for policies of older logs.

    Attributes
    ----------
    algorithm : Algorithm
        The row of parts.
    parameters : mapping
        The parameters that were given; read-only.

    Examples
    --------
    >>> import handrail
    >>> policy = handrail.make_policy("CUCB2", arms=3, baseline=0, baseline_mean=0.5, alpha=0.2,
    ...                               delta=0.05, reward_range=(0, 1))
    >>> decision = policy.decide()
    >>> decision.event
    'baseline'
    >>> policy.learn(decision, reward=1.0)
    'ignored'
    """

    def __init__(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Any],
        filled_in: Mapping[str, Any] | None = None,
        *,
        edition: int = EDITION,
    ) -> None:
        self.algorithm = algorithm
        given = {**DEFAULTS, **parameters}
        self._settings: Settings = settle(
            algorithm, {**given, **(filled_in or {})}, edition=edition
        )
        if filled_in is None:
            filled_in = resolved_parameters(algorithm, parameters)["parameters"]
        self._filled_in = MappingProxyType(dict(filled_in))
        self.parameters = MappingProxyType(
            {
                field: storage.plain_parameter(value)
                for field, value in given.items()
                if value is not None and not (np.isscalar(value) and value == DEFAULTS[field])
            }
        )
        self._state = State(self._settings)
        self._become(new_name(16))
        # Over fixed arms most rounds are the same: that one is checked once.
        fixed = self._settings.actions is not None
        self._standing = check_round(self._settings) if fixed else None

    def _become(self, name: str) -> None:
        """Take a name; this copy gets one of its own."""
        self._origin = Origin(
            name, self.algorithm, self._settings.units, self._settings.lessons == FROM_REWARDS
        )
        self._copy = new_name(8)
        self._process = process()
        self._lock = threading.Lock()
        self._saving = threading.Lock()

    # -- what can be asked -----------------------------------------------------------------

    @property
    def round(self) -> int:
        """Rounds decided so far."""
        return self._state.round

    @property
    def pending(self) -> int:
        """Rounds that still wait for their reward."""
        return len(self._state.open)

    @property
    def actions(self) -> int | None:
        """How many arms there are, retired ones too; None where actions change every round."""
        return self._settings.actions

    @property
    def failure_probability(self) -> float | None:
        """What the events that safety rests on add up to; None where nothing is promised.

        Under `union` accounting this is delta, under `paper` it can be more; 0 for oracles that
        rest on no bound.
        """
        return self._settings.failure

    @property
    def filled_in(self) -> Mapping[str, Any]:
        """What was taken for parameters that were not given; read-only."""
        return self._filled_in

    @property
    def notes(self) -> list[str]:
        """What the promise rests on beyond the declared numbers, or what voids it, in sentences."""
        return [note.text for note in self._settings.notes]

    # -- one round -------------------------------------------------------------------------

    def decide(
        self,
        *,
        proposal: Action | None = None,
        features: ArrayLike | None = None,
        baseline: Action | None = None,
        baseline_mean: float | tuple[float, float] | None = None,
        true_means: ArrayLike | None = None,
        hold: bool = False,
    ) -> Decision:
        """Decide one round.

        Parameters
        ----------
        proposal : int or str
            The action that the caller's own policy proposes; only for guards.
        features : array_like of shape (actions, dim)
            This round's actions, the baseline among them; only with `dim`.
        baseline : int or str
            This round's baseline action; by default the one given to `make_policy`.
        baseline_mean : float or (float, float)
            Its mean reward this round, given this round's context, or an interval for it;
            likewise.
        true_means : array_like of shape (actions,)
            This round's true means; only for oracles with `dim`.
        hold : bool, default=False
            Play the baseline, whatever the algorithm would choose: a baseline round like any other.
            A guard needs no proposal then; UCB and LinUCB need a baseline.

        Returns
        -------
        Decision
            What to play, and why.
        """
        with self._lock:
            self._state.check_whole()
            given = self._given(proposal, features, baseline, baseline_mean, true_means, hold)
            if self._process is not process():
                self._copy, self._process = new_name(8), process()
            token = self._copy + new_name(16) if self._tagged else self._copy
            choice = self._state.decide(given, token)
            return Decision(self._origin, token, self._state.round, choice, given)

    def explain(
        self,
        *,
        proposal: Action | None = None,
        features: ArrayLike | None = None,
        baseline: Action | None = None,
        baseline_mean: float | tuple[float, float] | None = None,
        true_means: ArrayLike | None = None,
        hold: bool = False,
    ) -> Decision:
        """Compute what `decide` would return now, and change nothing.

        Parameters
        ----------
        proposal, features, baseline, baseline_mean, true_means, hold
            As for `decide`.

        Returns
        -------
        Decision
            The same decision, without an id: no reward can be given for it.
        """
        with self._lock:
            self._state.check_whole()
            given = self._given(proposal, features, baseline, baseline_mean, true_means, hold)
            twin = self._state.copy(self._state.due())
        choice = twin.decide(given, "")
        return Decision(self._origin, None, twin.round, choice, given)

    def _given(
        self,
        proposal: Action | None,
        features: ArrayLike | None,
        baseline: Action | None,
        baseline_mean: float | tuple[float, float] | None,
        true_means: ArrayLike | None,
        hold: bool,
    ) -> Round:
        """Check the arguments of `decide`."""
        nothing = features is baseline is baseline_mean is true_means is proposal is None
        if nothing and hold is False and self._standing is not None:
            return self._standing
        named = (features, baseline, baseline_mean, true_means, proposal, hold)
        given = check_round(self._settings, *named)
        check_possible(self._settings, given)
        return given

    def check_standing(self) -> None:
        """Refuse what was agreed at the start if no round could be; files need no second look."""
        self._settings.units.check_length()
        if self._standing is not None:
            check_possible(self._settings, self._standing)

    def check(
        self,
        *,
        proposal: Action | None = None,
        features: ArrayLike | None = None,
        baseline: Action | None = None,
        baseline_mean: float | tuple[float, float] | None = None,
        true_means: ArrayLike | None = None,
        hold: bool = False,
    ) -> None:
        """Refuse what `decide` would refuse, and change nothing.

        Parameters
        ----------
        proposal, features, baseline, baseline_mean, true_means, hold
            As for `decide`.
        """
        with self._lock:
            given = self._given(proposal, features, baseline, baseline_mean, true_means, hold)
            self._state.check_round(given)

    # -- what changes on the way -------------------------------------------------------------

    def checkpoint(self) -> int:
        """Report that the round decided last was a checkpoint, with `checkpoint_gap`.

        Returns
        -------
        int
            How many checkpoints there were.
        """
        with self._lock:
            self._state.check_whole()
            return self._state.pass_checkpoint()

    def add_arm(self, features: ArrayLike | None = None) -> int:
        """Add an arm, never played so far; the promise goes on.

        Parameters
        ----------
        features : array_like of shape (d,)
            Its features, for a linear model over fixed arms.

        Returns
        -------
        int
            Its index: one more than the last arm ever added. No index is used twice.

        Notes
        -----
        The promise rests on all arms' bounds at once. Of delta, each arm has the share that was
        agreed on when the policy was made (`arms_ever`), whether it is there yet or not. A linear
        model's ellipsoid covers arms it has not seen.
        """
        with self._lock:
            self._state.check_whole()
            self._settings = self._state.add_arm(features)
            self._standing = check_round(self._settings)
            assert self._settings.actions is not None
            return self._settings.actions - 1

    def retire_arm(self, arm: int) -> None:
        """Never play an arm again; what it earned and its share of delta stay.

        Parameters
        ----------
        arm : int
            Its index; the baseline cannot be retired.
        """
        with self._lock:
            self._state.check_whole()
            self._state.retire_arm(arm)

    def is_retired(self, arm: int) -> bool:
        """Say whether an arm was retired.

        Parameters
        ----------
        arm : int
            Its index.
        """
        gone = self._state.model.gone
        arm = checks.whole("arm", arm, least=-(2**62))
        return 0 <= arm < gone.size and bool(gone[arm])

    # -- copies ----------------------------------------------------------------------------

    def __copy__(self) -> Policy:
        """Return a copy that goes its own way from here; its decisions get ids of their own."""
        twin = object.__new__(Policy)
        with self._lock:
            self._state.check_whole()
            twin.__dict__.update(self.__dict__)
            twin._state = self._state.copy()
        twin._become(self._origin.policy)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Policy:
        """Return the same as `copy.copy`: no copy shares state."""
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as the content of a saved file."""
        return Policy.from_bytes, ("a pickled policy", self.to_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file, all of it or nothing.

        Parameters
        ----------
        path : str or path-like
            The file; an older one is replaced in one step, after the new one is on disk.

        Notes
        -----
        The file is a zip of `state.json` and NumPy `.npy` arrays; docs/state-format.md
        describes it. `handrail.load_policy` reads it back, and the policy goes on bit for bit
        as if it had never stopped.
        """
        with self._saving:  # so that an older state never overwrites a newer one
            files.write(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes; the same state is the same bytes.

        Returns
        -------
        bytes
            What `from_bytes` reads.
        """
        with self._lock:
            document, arrays = self._state.dump()
        document |= {"policy": self._origin.policy, "algorithm": asdict(self.algorithm)}
        document["filled_in"] = dict(self._filled_in)
        document["parameters"] = {}
        for name, value in self.parameters.items():
            if isinstance(value, np.ndarray):
                arrays[f"parameters/{name}"] = value
            else:
                document["parameters"][name] = value
        return storage.pack(document, arrays)

    @classmethod
    def from_bytes(cls, path: str, content: bytes) -> Policy:
        """Return the policy whose saved file has this content.

        Parameters
        ----------
        path : str
            Where the content comes from, for the error's sake.
        content : bytes
            What `save` wrote.

        Returns
        -------
        Policy
            The policy.
        """
        document, arrays = storage.unpack(path, content)
        try:
            parameters = dict(document["parameters"])
            for name, value in arrays.items():
                if name.startswith("parameters/"):
                    parameters[name.removeprefix("parameters/")] = value
            if POLICY_NAME.fullmatch(document["policy"]) is None:
                raise ValueError("its name is not a policy's")
            edition = 1 if document["version"] < 3 else int(document["edition"])
            if not 1 <= edition <= EDITION:
                raise ValueError(f"its edition is {edition}")
            filled_in = document.get("filled_in")
            if filled_in is not None and not set(filled_in) <= set(FILLED_IN):
                raise ValueError("parameters were filled in that have to be given")
            row = Algorithm(**document["algorithm"])
            policy = cls(row, {**DEFAULTS, **parameters}, filled_in, edition=edition)
            policy._settings = policy._state.restore(document, arrays)
            if policy._standing is not None:
                policy._standing = check_round(policy._settings)
        except storage.UNREADABLE as error:
            raise storage.damaged(path, str(error)) from error
        policy._become(document["policy"])
        return policy

    def __repr__(self) -> str:
        """Return the policy on one line."""
        return f"<Policy {self.algorithm.name}: round {self._state.round}, {self.pending} pending>"
