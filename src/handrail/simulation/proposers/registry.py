"""Proposers by name: handrail's examples, and anybody's under the name they are imported by."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from handrail.errors import InputError, nearest
from handrail.policies.algorithm import Algorithm
from handrail.simulation.proposers.epsilon_greedy import EpsilonGreedy
from handrail.simulation.proposers.explore_then_commit import ExploreThenCommit
from handrail.simulation.proposers.linear_epsilon_greedy import LinearEpsilonGreedy
from handrail.simulation.proposers.thompson import Thompson

__all__ = [
    "check_proposer",
    "make_proposer",
    "proposer_digest",
    "proposer_name",
    "proposer_names",
    "register_proposer",
    "unguarded",
]

_OWN: Final[Mapping[str, Callable[..., Any]]] = {
    "thompson": Thompson,
    "epsilon-greedy": EpsilonGreedy,
    "explore-then-commit": ExploreThenCommit,
    "linear-epsilon-greedy": LinearEpsilonGreedy,
}
_registered: dict[str, str] = {}
_REMEDY: Final = "pass a function or class that stands at the top of a module, or 'module:name'"


def proposer_names() -> list[str]:
    """Return the names of all proposers that have a short one.

    Returns
    -------
    list of str
        handrail's own first.

    Examples
    --------
    >>> proposer_names()[:3]
    ['thompson', 'epsilon-greedy', 'explore-then-commit']
    """
    return [*_OWN, *sorted(_registered)]


def register_proposer(name: str, factory: Callable[..., Any]) -> None:
    """Give a proposer a short name, for this process.

    Parameters
    ----------
    name : str
        What it is called in `simulate`.
    factory : callable
        Called as ``factory(arms=K, seed=s)``, or ``factory(arms=K, dim=d, seed=s)`` for
        contexts. It must be importable: other processes know it by its module.
    """
    if name in _OWN or ":" in name:
        raise InputError("proposer", f"{name!r} is taken or no name", "choose another name")
    _registered[name] = proposer_name(factory)


def proposer_name(proposer: object) -> str:
    """Return the name under which any process finds a proposer.

    Parameters
    ----------
    proposer : str or callable
        A short name, ``"module:name"``, or the factory itself.

    Returns
    -------
    str
        A short name of handrail's own, or ``"module:name"``.

    Examples
    --------
    >>> proposer_name("thompson"), proposer_name(Thompson)
    ('thompson', 'thompson')
    """
    if isinstance(proposer, str):
        if proposer in _OWN:
            return proposer
        if proposer in _registered:
            return _registered[proposer]
        if ":" not in proposer:
            raise InputError(
                "proposer", f"{proposer!r} is not known", nearest(proposer, proposer_names())
            )
        _find(proposer)
        return proposer
    for name, factory in _OWN.items():
        if proposer is factory:
            return name
    if not callable(proposer):
        raise InputError("proposer", f"{proposer!r} is neither a name nor a factory", _REMEDY)
    module, inner = getattr(proposer, "__module__", None), getattr(proposer, "__qualname__", None)
    path = f"{module}:{inner}"
    try:
        found = _find(path)
    except InputError:
        found = None
    if found is not proposer:
        raise InputError(
            "proposer", f"{proposer!r} has no name under which it can be imported", _REMEDY
        )
    return path


def _find(name: str) -> Callable[..., Any]:
    """Return the factory that a canonical name stands for."""
    if name in _OWN:
        return _OWN[name]
    module, _, inner = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in inner.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        raise InputError("proposer", f"{name!r} cannot be imported here", _REMEDY) from None
    if not callable(found):
        raise InputError("proposer", f"{name!r} cannot be called", _REMEDY)
    factory: Callable[..., Any] = found
    return factory


def proposer_digest(name: str) -> str:
    """Return a hash of the code behind a name; handrail's own is hashed with all the rest.

    Parameters
    ----------
    name : str
        From `proposer_name`.

    Returns
    -------
    str
        Of the module's file, where it has one.
    """
    if name in _OWN:
        return ""
    module = sys.modules.get(name.partition(":")[0]) or import_module(name.partition(":")[0])
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _shape(arms: int, dim: int | None, seed: int) -> dict[str, int]:
    return {"arms": arms, "seed": seed} if dim is None else {"arms": arms, "dim": dim, "seed": seed}


def check_proposer(name: str, arms: int, dim: int | None) -> None:
    """Refuse a factory that does not take what it would be given.

    Parameters
    ----------
    name : str
        From `proposer_name`.
    arms : int
        Arms, or actions in a round.
    dim : int or None
        Length of the features, for contexts.
    """
    try:
        signature = inspect.signature(_find(name))
    except ValueError:
        return  # nobody knows; the call itself will tell
    try:
        signature.bind(**_shape(arms, dim, 0))
    except TypeError as error:
        kind = "arms that stay the same" if dim is None else "features that change every round"
        called = ", ".join(f"{field}=" for field in _shape(arms, dim, 0))
        raise InputError(
            "proposer", f"{name!r} is not made for {kind} ({error})", f"it is called with {called}"
        ) from None


def make_proposer(name: str, arms: int, dim: int | None, seed: int) -> Any:
    """Make a proposer for one run.

    Parameters
    ----------
    name : str
        From `proposer_name`.
    arms : int
        Arms, or actions in a round.
    dim : int or None
        Length of the features, for contexts.
    seed : int
        Of its own random numbers, below 2^32.

    Returns
    -------
    object
        With ``select()`` and ``update(action, reward)``; for contexts ``select(features)`` and
        ``update(action, reward, features)``.
    """
    made = _find(name)(**_shape(arms, dim, seed))
    for method in ("select", "update"):
        if not callable(getattr(made, method, None)):
            raise InputError("proposer", f"what {name!r} makes has no {method}()", "add it")
    return made


def unguarded(name: str) -> Algorithm:
    """Return parts that play every proposal: what a guard is compared with.

    Parameters
    ----------
    name : str
        What it is called in tables.

    Returns
    -------
    Algorithm
        For a `handrail.Contender` with the parameter `proposer`.

    Examples
    --------
    >>> unguarded("Thompson sampling").conservative
    False
    """
    return Algorithm(name, "none", "none", "proposal", "none")
