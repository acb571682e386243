"""What the client cannot do without; imported before anything that uses it."""

from __future__ import annotations

from handrail.extras import need_extra

__all__: list[str] = []

need_extra("h11", "client")
need_extra("msgspec", "client")
