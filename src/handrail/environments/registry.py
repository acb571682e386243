"""Environments by name: handrail's own, those of other packages, and those registered by hand.

A package adds its own through the entry-point group ``handrail.environments``: a name and a
callable that makes the environment from keyword parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from handrail.environments.bernoulli import Bernoulli
from handrail.environments.contextual import ContextualLinear
from handrail.environments.harsh import Extremes, LongShots, Loud, Shortfalls, TinyGaps
from handrail.environments.linear import Linear
from handrail.environments.problem import Environment
from handrail.environments.ratings import Ratings
from handrail.environments.traps import Echoes, Lures, Traps, Wilderness
from handrail.errors import InputError, nearest

__all__ = ["environment_names", "make_environment", "parameter_names", "register_environment"]

_GROUP: Final = "handrail.environments"
_OWN: Final[Mapping[str, Callable[..., Environment]]] = {
    "bernoulli": Bernoulli,
    "linear": Linear,
    "contextual-linear": ContextualLinear,
    "ratings": Ratings,
    "loud": Loud,
    "long-shots": LongShots,
    "extremes": Extremes,
    "tiny-gaps": TinyGaps,
    "shortfalls": Shortfalls,
    "traps": Traps,
    "wilderness": Wilderness,
    "lures": Lures,
    "echoes": Echoes,
}
_registered: dict[str, Callable[..., Environment]] = {}


def register_environment(name: str, factory: Callable[..., Environment]) -> None:
    """Add an environment under a name, for this process.

    Parameters
    ----------
    name : str
        What it is called in `simulate` and on the command line.
    factory : callable
        Makes the environment from keyword parameters, with a default for each.

    Examples
    --------
    >>> from handrail.environments.bernoulli import Bernoulli
    >>> register_environment("close-call", lambda arms=3: Bernoulli(arms, 0.4, 0.6, 2))
    >>> make_environment("close-call", arms=4).problem(seed=0, index=0).means.size
    4
    """
    if name in _OWN:
        raise InputError("environment", f"{name!r} is handrail's own", "choose another name")
    _registered[name] = factory


def environment_names() -> list[str]:
    """Return the names of all known environments.

    Returns
    -------
    list of str
        handrail's own first.

    Examples
    --------
    >>> environment_names()[:4]
    ['bernoulli', 'linear', 'contextual-linear', 'ratings']
    """
    others = {entry.name for entry in entry_points(group=_GROUP)} | set(_registered)
    return [*_OWN, *sorted(others - set(_OWN))]


def _factory(name: str) -> Callable[..., Environment]:
    for known in (_OWN, _registered):
        if name in known:
            return known[name]
    for entry in entry_points(group=_GROUP, name=name):
        factory: Callable[..., Environment] = entry.load()
        return factory
    raise InputError("environment", f"{name!r} is not known", nearest(name, environment_names()))


def parameter_names(name: str) -> list[str]:
    """Return the names of an environment's parameters.

    Parameters
    ----------
    name : str
        The environment.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> parameter_names("bernoulli")
    ['arms', 'low', 'high', 'baseline_rank']
    """
    return list(inspect.signature(_factory(name)).parameters)


def make_environment(name: str, **parameters: Any) -> Environment:
    """Make an environment from its name and parameters.

    Parameters
    ----------
    name : str
        One of `environment_names()`.
    **parameters
        Its parameters; each has a default.

    Returns
    -------
    Environment
        The environment.

    Examples
    --------
    >>> make_environment("bernoulli", arms=3, baseline_rank=2).problem(seed=0, index=1).baseline
    0
    """
    factory = _factory(name)
    known = parameter_names(name)
    for field in parameters:
        if field not in known:
            raise InputError(field, f"is no parameter of {name!r}", nearest(field, known))
    return factory(**parameters)
