"""How a check complains."""

from __future__ import annotations

__all__ = ["require"]


def require(holds: object, complaint: str) -> None:
    """Raise unless something holds; an assert would be silent under ``python -O``."""
    if not holds:
        raise AssertionError(complaint)
