"""Public checks that a policy keeps its contract; third parties can run them on their own."""

from __future__ import annotations

from handrail.testing.policies import check_policy

__all__ = ["check_policy"]
