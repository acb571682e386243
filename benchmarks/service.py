"""The decision service as a user starts it: rates, memory, log and start-up. Takes minutes."""

from __future__ import annotations

from benchmarks.measure import Row
from benchmarks.processes import on_disk
from handrail.extras import need_extra

__all__ = ["rows"]


def rows() -> list[Row]:
    """Measure."""
    for module in ("msgspec", "uvicorn", "httptools"):
        need_extra(module, "service")
    from benchmarks.service_growth import growth
    from benchmarks.service_many import many
    from benchmarks.service_rates import rates

    with on_disk() as folder:
        return [*rates(folder), *growth(folder), *many(folder)]
