"""The theorems on CLUCB2 and CLUCB2T as functions: what they promise, in numbers.

`Setting` holds the symbols, `evaluate` returns every bound at once, and the functions below return
one each. The bounds are the corrected ones; `as_printed` keeps the paper's own.

References
----------
E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved algorithms for conservative
exploration in bandits, Theorems 1 and 2.
"""

from handrail.theory.closed import closed_rounds, rounds_threshold
from handrail.theory.first_phase import free_rounds, free_stretch
from handrail.theory.overview import Bounds, Regret, evaluate
from handrail.theory.printed import Printed, as_printed
from handrail.theory.regret import Course, course, linear_regret, regret_bound
from handrail.theory.rounds import conservative_rounds
from handrail.theory.setting import Setting

__all__ = [
    "Bounds",
    "Course",
    "Printed",
    "Regret",
    "Setting",
    "as_printed",
    "closed_rounds",
    "conservative_rounds",
    "course",
    "evaluate",
    "free_rounds",
    "free_stretch",
    "linear_regret",
    "regret_bound",
    "rounds_threshold",
]
