"""An experiment: algorithms compared on the problems of an environment."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from handrail import checks
from handrail.errors import InputError
from handrail.policies.algorithm import Algorithm
from handrail.policies.catalogue import algorithm
from handrail.policies.gaps import plain_gap
from handrail.records import Ints
from handrail.simulation.proposers.registry import proposer_name

__all__ = ["ENGINES", "Contender", "Experiment", "Label", "plain", "recorded_rounds"]

Label: TypeAlias = int | float | str

ENGINES: Final = ("fast", "plain")
_LONGEST: Final = 10**9
_SEEDS: Final = 2**63 - 1


@dataclass(frozen=True)
class Contender:
    """An algorithm with parameters of its own.

    Parameters
    ----------
    algorithm : str or Algorithm
        A name from the catalogue, or parts put together by hand.
    parameters : mapping
        Parameters of `make_policy` for this contender alone. A guard's `proposer` is a name or
        a factory that can be imported; it becomes a label too.
    labels : mapping
        Further columns of the tables, to tell contenders with the same algorithm apart.
    """

    algorithm: str | Algorithm
    parameters: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Turn a proposer into a name that any process can find it by."""
        object.__setattr__(self, "parameters", _named(self.parameters))
        if "proposer" in self.parameters:
            name = self.parameters["proposer"]
            object.__setattr__(self, "labels", {"proposer": name, **self.labels})

    @property
    def row(self) -> Algorithm:
        """The algorithm's parts."""
        chosen = self.algorithm
        return chosen if isinstance(chosen, Algorithm) else algorithm(chosen)


@dataclass(frozen=True)
class Experiment:
    """Contenders on the same problems, with the same rewards.

    Parameters
    ----------
    environment : str
        The name of an environment.
    parameters : mapping
        Its parameters.
    contenders : tuple of Contender
        Who is compared.
    rounds, runs, problems : int
        The horizon, the runs of each problem, and the problems drawn.
    seed : int
        All randomness is a function of it.
    policy : mapping
        Parameters of `make_policy`; each contender takes those its algorithm uses.
    points : int, default=500
        How many rounds are recorded at most.
    labels : mapping
        Further columns of the tables.
    engine : {"fast", "plain"}
        Whether exact shortcuts are taken.
    """

    environment: str
    parameters: Mapping[str, Any]
    contenders: tuple[Contender, ...]
    rounds: int
    runs: int
    problems: int
    seed: int
    policy: Mapping[str, Any] = field(default_factory=dict)
    points: int = 500
    labels: Mapping[str, Label] = field(default_factory=dict)
    engine: str = "fast"

    def __post_init__(self) -> None:
        """Check what can be checked without drawing a problem."""
        object.__setattr__(self, "policy", _named(self.policy))
        checks.whole("rounds", self.rounds, most=_LONGEST)
        checks.whole("runs", self.runs, most=10**7)
        checks.whole("problems", self.problems, most=10**6)
        checks.whole("seed", self.seed, least=0, most=_SEEDS)
        checks.whole("points", self.points, least=1, most=500)
        checks.one_of("engine", self.engine, ENGINES)
        if not self.contenders:
            raise InputError("algorithms", "none is given", "name at least one")
        seen = set()
        for contender in self.contenders:
            shown = (contender.row.name, *sorted({**self.labels, **contender.labels}.items()))
            if shown in seen:
                raise InputError(
                    "algorithms",
                    f"{contender.row.name} is there twice",
                    "name each once, or tell them apart by the labels of Contender",
                )
            seen.add(shown)

    def settings(self) -> dict[str, Any]:
        """Return all of it as plain data, ready for JSON."""
        settings: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self), default=plain))
        names = [contender.row.name for contender in self.contenders]
        return {"algorithms": ", ".join(names), **settings}


def _named(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return parameters with a proposer's name in place of the proposer."""
    if "proposer" not in parameters:
        return parameters
    return {**parameters, "proposer": proposer_name(parameters["proposer"])}


def plain(value: object) -> Any:
    """Turn NumPy's numbers, paths, mappings and laws into plain data (``json.dumps(default=)``).

    Parameters
    ----------
    value : object
        What JSON does not know.

    Returns
    -------
    int, float, bool, list, dict or str
        The same in plain Python.
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if plain_gap(value) is not value:
        return plain_gap(value)
    raise InputError(
        "parameters", f"{value!r} cannot be written down", "pass numbers, text and lists of them"
    )


def recorded_rounds(rounds: int, points: int) -> Ints:
    """Return the rounds that are recorded: half of them log-, half linearly spaced.

    Parameters
    ----------
    rounds : int
        The horizon, always among them.
    points : int
        How many there may be.

    Returns
    -------
    numpy.ndarray
        Increasing rounds, each once.

    Examples
    --------
    >>> recorded_rounds(100, 8).tolist()
    [1, 5, 22, 25, 50, 75, 100]
    """
    half = max(points // 2, 1)
    spread = np.concatenate(
        [
            np.geomspace(1, rounds, points - half) if points > half else [],
            rounds * np.arange(1, half + 1) / half,
        ]
    )
    return np.unique(np.maximum(np.round(spread).astype(np.int64), 1))
