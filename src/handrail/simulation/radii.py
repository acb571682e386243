"""Tables of the ellipsoid's radius and of psi, which every run of an agreement shares."""

from __future__ import annotations

from handrail.bounds.ellipsoid import radius_at
from handrail.compiled import inlined, lean
from handrail.conservative.past import boundary
from handrail.records import Floats, Record, Rules

__all__ = ["tabulate_radii", "tabulated_psi", "tabulated_radius"]


@lean
def tabulate_radii(rules_: Record, radii: Floats, boundaries: Floats) -> None:
    """Fill in the ellipsoid's radius by the number of rows, and psi by the number of rewards."""
    rules = rules_[0]
    for rows in range(radii.size):
        radii[rows] = radius_at(rules, rows, 0.0)
    for count in range(boundaries.size):
        boundaries[count] = boundary(rules, count)


@inlined
def tabulated_radius(rules: Rules, radii: Floats, rows: int, log_det: float) -> float:
    """Return the ellipsoid's radius, from the table where it has it."""
    return float(radii[rows]) if rows < radii.size else radius_at(rules, rows, log_det)


@inlined
def tabulated_psi(rules: Rules, boundaries: Floats, count: int) -> float:
    """Return psi of so many rewards, from the table where it has it."""
    return float(boundaries[count]) if count < boundaries.size else boundary(rules, count)
