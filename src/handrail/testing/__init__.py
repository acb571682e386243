"""Public checks that policies and environments keep their contracts; run them on your own."""

from __future__ import annotations

from handrail.testing.environments import check_environment
from handrail.testing.policies import check_policy

__all__ = ["check_environment", "check_policy"]
