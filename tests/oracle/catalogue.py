"""The algorithms as four choices each (docs/algorithms.md, "The catalogue")."""

from __future__ import annotations

from typing import NamedTuple


class Parts(NamedTuple):
    """Estimator, lower bound on past and present, selection rule, schedule of the constraint."""

    estimator: str
    past: str
    selection: str
    schedule: str


CATALOGUE: dict[str, Parts] = {
    "UCB": Parts("means", "none", "optimistic", "none"),
    "CUCB": Parts("means", "arm-sums", "two-step", "every-round"),
    "CUCB-Or": Parts("means", "oracle", "two-step", "every-round"),
    "CUCB-L": Parts("means", "arm-sums", "largest-lower", "every-round"),
    "CUCB-M": Parts("means", "martingale", "two-step", "every-round"),
    "CUCB-S": Parts("means", "arm-sums", "constrained", "every-round"),
    "CUCB2": Parts("means", "martingale", "constrained", "every-round"),
    "CUCB2T": Parts("means", "martingale", "constrained", "checkpoints"),
    "LinUCB": Parts("linear", "none", "optimistic", "none"),
    "CLUCB": Parts("linear", "self-normalised", "two-step", "every-round"),
    "CLUCB-Or": Parts("linear", "oracle", "two-step", "every-round"),
    "CLUCB-L": Parts("linear", "self-normalised", "largest-lower", "every-round"),
    "CLUCB-M": Parts("linear", "martingale", "two-step", "every-round"),
    "CLUCB-S": Parts("linear", "self-normalised", "constrained", "every-round"),
    "CLUCB2": Parts("linear", "martingale", "constrained", "every-round"),
    "CLUCB2T": Parts("linear", "martingale", "constrained", "checkpoints"),
}

GUARDS: dict[str, Parts] = {
    "GUARD": Parts("none", "martingale", "proposal", "every-round"),
    "GUARD-T": Parts("none", "martingale", "proposal", "checkpoints"),
}
"""Those that know nothing about actions."""

MEANS = [name for name, parts in CATALOGUE.items() if parts.estimator == "means"]
LINEAR = [name for name, parts in CATALOGUE.items() if parts.estimator == "linear"]
