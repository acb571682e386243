"""Learn online without falling below the policy that runs today.

`make_policy` makes a policy from the catalogue of conservative bandit algorithms; the policy
decides round by round so that, with probability 1 - delta, the cumulative expected reward never
falls below (1 - alpha) of what the baseline would have earned, at every round or at checkpoints.

References
----------
E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved algorithms for conservative
exploration in bandits. AAAI.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from handrail._version import __version__

if TYPE_CHECKING:
    from handrail import testing as testing
    from handrail import theory as theory
    from handrail.certificate.certify import Certificate, certify
    from handrail.client import AsyncClient, Client
    from handrail.environments.registry import (
        environment_names,
        make_environment,
        register_environment,
    )
    from handrail.errors import InputError, NoGuaranteeWarning
    from handrail.policies.algorithm import Algorithm
    from handrail.policies.catalogue import algorithm, algorithms
    from handrail.policies.decision import Decision
    from handrail.policies.guard import guard
    from handrail.policies.guarded import Guarded
    from handrail.policies.load import load_policy
    from handrail.policies.make import make_policy
    from handrail.policies.policy import Policy
    from handrail.simulation.experiment import Contender
    from handrail.simulation.simulate import simulate

__all__ = [
    "Algorithm",
    "AsyncClient",
    "Certificate",
    "Client",
    "Contender",
    "Decision",
    "Guarded",
    "InputError",
    "NoGuaranteeWarning",
    "Policy",
    "__version__",
    "algorithm",
    "algorithms",
    "certify",
    "environment_names",
    "guard",
    "load_policy",
    "make_environment",
    "make_policy",
    "register_environment",
    "simulate",
    "testing",
    "theory",
]

_HOMES: Final = {
    "Algorithm": "handrail.policies.algorithm",
    "AsyncClient": "handrail.client",
    "Certificate": "handrail.certificate.certify",
    "Client": "handrail.client",
    "Contender": "handrail.simulation.experiment",
    "Decision": "handrail.policies.decision",
    "Guarded": "handrail.policies.guarded",
    "InputError": "handrail.errors",
    "NoGuaranteeWarning": "handrail.errors",
    "Policy": "handrail.policies.policy",
    "algorithm": "handrail.policies.catalogue",
    "algorithms": "handrail.policies.catalogue",
    "certify": "handrail.certificate.certify",
    "environment_names": "handrail.environments.registry",
    "guard": "handrail.policies.guard",
    "load_policy": "handrail.policies.load",
    "make_environment": "handrail.environments.registry",
    "make_policy": "handrail.policies.make",
    "register_environment": "handrail.environments.registry",
    "simulate": "handrail.simulation.simulate",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for: the compiler behind the policies is heavy."""
    if name in ("testing", "theory"):
        return import_module(f"handrail.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'handrail' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
