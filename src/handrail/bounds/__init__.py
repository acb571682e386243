"""How far an estimate can be off: one arm, the ellipsoid, a cumulative sum."""
