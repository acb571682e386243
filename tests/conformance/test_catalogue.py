"""Every row of the catalogue keeps the contract of a policy, in every setting it works in."""

from __future__ import annotations

from typing import Any

import pytest

import handrail
from handrail import Policy
from handrail.testing import check_policy
from support import SETTINGS, make

# A window without a default is used here knowingly; its warning is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings("ignore:window without:handrail.errors.NoGuaranteeWarning")

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"window": 4},
    "window and default": {"window": 3, "default_reward": -1.0, "reward_range": (-2.0, 3.0)},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_contract(name: str, setting: str, variant: str) -> None:
    changes = dict(VARIANTS[variant])
    check_policy(lambda: make(name, setting, **changes), rounds=60)


def test_names() -> None:
    assert [row.name for row in handrail.algorithms()] == [
        *("UCB", "CUCB", "CUCB-Or", "CUCB-L", "CUCB-M", "CUCB-S", "CUCB2", "CUCB2T"),
        *("LinUCB", "CLUCB", "CLUCB-Or", "CLUCB-L", "CLUCB-M", "CLUCB-S", "CLUCB2", "CLUCB2T"),
        *("HANDRAIL", "HANDRAIL-Or", "HANDRAILT"),
        *("LinHANDRAIL", "LinHANDRAIL-Or", "LinHANDRAILT"),
        *("GUARD", "GUARD-T"),
    ]


class _Forgetful(Policy):
    """Breaks the contract in one way, given by `fault`."""

    fault = ""

    def learn(self, decision: Any, reward: Any) -> Any:
        if self.fault == "accepts anything" and not isinstance(reward, float):
            return "ignored"
        if self.fault == "hoards":
            self.__dict__.setdefault("hoard", []).append([0.0] * 20)
        return super().learn(decision, reward)

    def explain(self, **given: Any) -> Any:
        return self.decide(**given) if self.fault == "explains by deciding" else super().explain()

    def save(self, path: Any) -> None:
        if self.fault == "saves another":
            make("CUCB2", "arms").save(path)
        else:
            super().save(path)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("accepts anything", "was accepted"),
        ("hoards", "memory grew"),
        ("explains by deciding", "explain changed"),
        ("saves another", "not saved as it was"),
    ],
)
def test_the_check_can_fail(fault: str, complaint: str) -> None:
    """Each fault is found: the checks are not empty."""

    def factory() -> Policy:
        policy = make("CUCB2", "arms")
        policy.__class__ = type("Broken", (_Forgetful,), {"fault": fault})
        return policy

    with pytest.raises(AssertionError, match=complaint):
        check_policy(factory, rounds=60)
