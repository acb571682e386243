"""Policy: decide, learn, explain, close, save."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from handrail.conservative.choice import ACTION, PROMISE
from handrail.errors import InputError
from handrail.policies import storage
from handrail.policies.algorithm import Algorithm
from handrail.policies.decision import Decision, Origin
from handrail.policies.identity import POLICY_NAME, Identity, new_name, parse_id, process
from handrail.policies.model import Arrays, Model, OpenRound, copy_model, waive
from handrail.policies.models import make_model
from handrail.policies.parameters import DEFAULTS, Settings, settle
from handrail.policies.rounds import Round, bad_features, check_features, check_round
from handrail.policies.state import (
    dump_ledger,
    dump_open,
    dump_open_features,
    restore_model,
    restore_open,
)

__all__ = ["Policy", "load_policy"]

Status = Literal["learned", "waiting", "ignored", "late", "waived", "closed"]


class Policy:
    """An algorithm at work: one decision a round, rewards as they come.

    Made by `handrail.make_policy`, or read from a file by `handrail.load_policy`. Calls from
    several threads are served one after the other.

    Parameters
    ----------
    algorithm : Algorithm
        The row of parts.
    parameters : mapping
        The parameters of `make_policy`.

    Attributes
    ----------
    algorithm : Algorithm
        The row of parts.
    parameters : dict
        The parameters that were given.

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

    def __init__(self, algorithm: Algorithm, parameters: Mapping[str, Any]) -> None:
        self.algorithm = algorithm
        self._settings: Settings = settle(algorithm, {**DEFAULTS, **parameters})
        self.parameters = {
            field: _plain(value)
            for field, value in parameters.items()
            if value is not None and not (np.isscalar(value) and value == DEFAULTS[field])
        }
        self._model: Model = make_model(self._settings)
        self._become(new_name(16))
        # Ordered, because its oldest entry must be at hand at once: a plain dict scans for it.
        self._open: OrderedDict[int, OpenRound] = OrderedDict()
        self._round = 0
        self._whole = True
        # Most policies over fixed arms see the same round again and again: it is checked once.
        self._standing = None
        if self._settings.actions is not None:
            self._standing = check_round(self._settings)

    def _become(self, name: str) -> None:
        """Take a name; this copy gets one of its own."""
        self._origin = Origin(name, self.algorithm, self._settings.units)
        self._copy = new_name(8)
        self._process = process()
        self._lock = threading.Lock()
        self._saving = threading.Lock()

    # -- what can be asked -----------------------------------------------------------------

    @property
    def round(self) -> int:
        """Rounds decided so far."""
        return self._round

    @property
    def pending(self) -> int:
        """Rounds that still wait for their reward."""
        return len(self._open)

    @property
    def failure_probability(self) -> float | None:
        """What the events that safety rests on add up to; None where nothing is promised.

        Under `union` accounting this is delta, under `paper` it can be more; 0 for oracles.
        """
        return self._settings.failure

    # -- one round -------------------------------------------------------------------------

    def decide(
        self,
        *,
        features: ArrayLike | None = None,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        true_means: ArrayLike | None = None,
    ) -> Decision:
        """Decide one round.

        Parameters
        ----------
        features : array_like of shape (actions, dim)
            This round's actions, the baseline among them; only with `dim`.
        baseline : int
            This round's baseline action; by default the one given to `make_policy`.
        baseline_mean : float
            Its mean reward this round, likewise.
        true_means : array_like of shape (actions,)
            This round's true means; only for oracles with `dim`.

        Returns
        -------
        Decision
            What to play, and why.
        """
        with self._lock:
            self._check_whole()
            given = self._given(features, baseline, baseline_mean, true_means)
            if self._process is not process():
                self._copy, self._process = new_name(8), process()
            return self._decide(given, self._copy)

    def explain(
        self,
        *,
        features: ArrayLike | None = None,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        true_means: ArrayLike | None = None,
    ) -> Decision:
        """Compute what `decide` would return now, and change nothing.

        Parameters
        ----------
        features, baseline, baseline_mean, true_means
            As for `decide`.

        Returns
        -------
        Decision
            The same decision, without an id: no reward can be given for it.
        """
        with self._lock:
            self._check_whole()
            given = self._given(features, baseline, baseline_mean, true_means)
            due = self._due(self._round + 1)
            return self._twin(due)._decide(given, None)

    def _given(
        self,
        features: ArrayLike | None,
        baseline: int | None,
        baseline_mean: float | None,
        true_means: ArrayLike | None,
    ) -> Round:
        """Check the arguments of `decide`."""
        if features is baseline is baseline_mean is true_means is None and self._standing:
            return self._standing
        return check_round(self._settings, features, baseline, baseline_mean, true_means)

    def _decide(self, given: Round, copy: str | None) -> Decision:
        number = self._round + 1
        due = self._due(number) if self._settings.window is not None else ()
        if due:
            # Settling changes the state: bad features must be found before, not by the model.
            check_features(self._settings, given)
            for each in due:
                self._settle(each)
        self._whole = False
        choice = self._model.decide(given)
        action = choice[ACTION]
        if action < 0:
            self._whole = True
            raise bad_features(self._settings, given, -1 - action)
        decision = Decision(self._origin, copy, number, choice, given.baseline, given.mean)
        self._round = number
        if decision.awaits_reward:
            self._open[number] = OpenRound(
                number, action, choice[PROMISE], self._model.chosen(given, action), copy or ""
            )
        self._whole = True
        return decision

    def _check_whole(self) -> None:
        """Refuse to go on from half a step: an exception from outside (Ctrl-C) came in between."""
        if not self._whole:
            raise RuntimeError(
                "this policy was interrupted in the middle of a step; go on from the last save"
            )

    def _due(self, number: int) -> list[OpenRound]:
        """Return the rounds whose window ends when this round is decided, oldest first."""
        window = self._settings.window
        if window is None:
            return []
        return list(takewhile(lambda each: each.round + window <= number, self._open.values()))

    # -- rewards ---------------------------------------------------------------------------

    def learn(self, decision: Decision | str, reward: float) -> Status:
        """Take the reward of a decision into account; late, and out of order, is fine.

        Parameters
        ----------
        decision : Decision or str
            What `decide` returned, or its id.
        reward : float
            The reward.

        Returns
        -------
        {"learned", "waiting", "ignored", "late"}
            "waiting": it is used when the decision's window closes. "ignored": a baseline round,
            which needs none. "late": the window has closed; the reward is dropped, whether or not
            one had come before.
        """
        with self._lock:
            self._check_whole()
            identity = self._identity(decision)
            value = self._settings.units.reward("reward", reward)
            found = self._find(identity)
            if isinstance(found, str):
                return found
            if self._settings.window is None:
                return self._settle(found, value)
            if found.closed or found.reward is not None:
                raise _settled(identity)
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
            self._check_whole()
            found = self._find(self._identity(decision))
            if isinstance(found, str):
                return found
            if self._settings.window is not None:
                found.closed = True
                return "closed"
            return self._settle(found)

    def _settle(self, open_round: OpenRound, reward: float | None = None) -> Status:
        """End a round: with this reward, the one that waits, the default, or none."""
        if reward is None:
            reward = open_round.reward
        if reward is None:
            reward = self._settings.default_reward
        self._whole = False
        if reward is None:
            waive(self._model.ledger, open_round.promise)
        else:
            self._model.reward(open_round, reward)
        del self._open[open_round.round]
        self._whole = True
        return "waived" if reward is None else "learned"

    def _identity(self, decision: Decision | str) -> Identity:
        if isinstance(decision, Decision):
            identity = decision.identity
            if identity is None:
                raise InputError(
                    "decision",
                    "comes from explain() and was never played",
                    "pass what decide() returned",
                )
        elif isinstance(decision, str):
            identity = parse_id(decision)
        else:
            raise InputError(
                "decision", f"{decision!r} is neither a Decision nor an id", "pass decision.id"
            )
        if identity.policy != self._origin.policy:
            raise InputError(
                "decision", "was made by another policy", "give it to the policy that made it"
            )
        return identity

    def _find(self, identity: Identity) -> OpenRound | Literal["ignored", "late"]:
        """Return the round that waits, or why none does."""
        open_round = self._open.get(identity.round)
        if open_round is not None and open_round.token == identity.copy:
            return open_round
        if identity.round > self._round or open_round is not None:
            raise InputError(
                "decision",
                f"round {identity.round} was decided by another copy of this policy",
                "give it to the copy that made it",
            )
        if not identity.awaits_reward:
            return "ignored"
        window = self._settings.window
        if window is not None and identity.round + window <= self._round:
            return "late"
        raise _settled(identity)

    # -- copies ----------------------------------------------------------------------------

    def _twin(self, rounds: Iterable[OpenRound]) -> Policy:
        """Return a copy that goes its own way from here, with these of the open rounds."""
        twin = object.__new__(Policy)
        twin.__dict__.update(self.__dict__)
        twin._model = copy_model(self._model)
        twin._open = OrderedDict((each.round, each.copy()) for each in rounds)
        twin._become(self._origin.policy)
        return twin

    def __copy__(self) -> Policy:
        """Return a copy that goes its own way from here; its decisions get ids of their own."""
        with self._lock:
            self._check_whole()
            return self._twin(self._open.values())

    def __deepcopy__(self, memo: dict[int, Any]) -> Policy:
        """Return the same as `copy.copy`: no copy shares state."""
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as the content of a saved file."""
        return _from_bytes, ("a pickled policy", self._to_bytes())

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
            storage.write(path, self._to_bytes())

    def _to_bytes(self) -> bytes:
        with self._lock:
            self._check_whole()
            state, arrays = self._dump()
        return storage.pack(state, arrays)

    def _dump(self) -> tuple[dict[str, Any], Arrays]:
        """Return a snapshot as JSON and arrays."""
        plain = {k: v for k, v in self.parameters.items() if not isinstance(v, np.ndarray)}
        kept = {k: v for k, v in self.parameters.items() if isinstance(v, np.ndarray)}
        state = {
            "policy": self._origin.policy,
            "algorithm": dict(self.algorithm),
            "parameters": plain,
            "ledger": dump_ledger(self._model),
            "open": dump_open(self._open.values()),
        }
        arrays = {f"parameters/{name}": value for name, value in kept.items()}
        arrays |= {f"model/{name}": value.copy() for name, value in self._model.arrays().items()}
        arrays |= dump_open_features(self._open.values())
        return state, arrays

    @classmethod
    def _restore(cls, state: dict[str, Any], arrays: Arrays) -> Policy:
        """Return the policy a snapshot was taken of; what does not fit raises."""
        algorithm = Algorithm(**state["algorithm"])
        parameters = dict(state["parameters"])
        for name, value in arrays.items():
            if name.startswith("parameters/"):
                parameters[name.removeprefix("parameters/")] = value
        policy = cls(algorithm, {**DEFAULTS, **parameters})
        if POLICY_NAME.fullmatch(state["policy"]) is None:
            raise ValueError("its name is not a policy's")
        policy._become(state["policy"])
        restore_model(policy._model, state["ledger"], arrays)
        policy._open = restore_open(state["open"], arrays, policy._model)
        policy._round = int(policy._model.ledger["rounds"][0])
        return policy

    def __repr__(self) -> str:
        """Return the policy on one line."""
        return f"<Policy {self.algorithm.name}: round {self._round}, {self.pending} pending>"


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy that `Policy.save` wrote; it goes on bit for bit as if it had never stopped.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Policy
        The policy; its decisions get ids that no other copy gives out.

    Raises
    ------
    InputError
        If the file is damaged, of another kind, or written by a newer version.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import handrail, pathlib, tempfile
    >>> policy = handrail.make_policy("UCB", arms=2, delta=0.1, reward_range=(0, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(pathlib.Path(folder) / "ucb.handrail")
    ...     twin = handrail.load_policy(pathlib.Path(folder) / "ucb.handrail")
    >>> twin.decide().action == policy.decide().action
    True
    """
    return _from_bytes(os.fspath(path), Path(path).read_bytes())


def _from_bytes(path: str, content: bytes) -> Policy:
    state, arrays = storage.unpack(path, content)
    try:
        return Policy._restore(state, arrays)
    except storage.UNREADABLE as error:
        raise storage.damaged(path, str(error)) from error


def _settled(identity: Identity) -> InputError:
    return InputError(
        "decision",
        f"round {identity.round} is settled already",
        "give one reward per decision, and none after close()",
    )


def _plain(value: Any) -> Any:
    """Return a parameter as JSON or an array can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, int | float | str):
        return value
    return np.array(value, dtype=np.float64)
