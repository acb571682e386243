"""The rules without a compiler: the same actions, margins and bounds, step by step."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import uncompiled_trace
from uncompiled_trace import Step, traces

pytestmark = pytest.mark.long
"""`test_compiled` compares the rules in seconds; here is every algorithm and option."""

TOLERANCE = 1e-12
"""Relative, or absolute below 1.

The compiler reorders no sum and fuses no product with one, so both do the same operations in the
same order; what may differ is the last bit of log, log1p, expm1, exp and lgamma, where the
interpreter's C library is another one than the compiler's.
"""


@pytest.fixture(scope="module")
def interpreted() -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, uncompiled_trace.__file__],
        env={
            **os.environ,
            "HANDRAIL_UNCOMPILED": "1",
            "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    printed: dict[str, Any] = json.loads(run.stdout)
    return printed


def test_nothing_is_compiled(interpreted: dict[str, Any]) -> None:
    assert interpreted["compilers"] == []
    assert interpreted["dispatchers"] == []


def _agree(one: int | str, other: int | str) -> bool:
    if one == other or not (isinstance(one, str) and isinstance(other, str)):
        return one == other
    try:
        a, b = float.fromhex(one), float.fromhex(other)
    except ValueError:
        return False
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def test_every_step_is_the_same(interpreted: dict[str, Any]) -> None:
    compiled = traces()
    assert list(compiled) == list(interpreted["traces"])
    explored = 0
    for label, steps in compiled.items():
        others: list[Step] = interpreted["traces"][label]
        assert len(steps) == len(others)
        for number, (one, other) in enumerate(zip(steps, others, strict=True)):
            assert len(one) == len(other)
            same = all(_agree(a, b) for a, b in zip(one, other, strict=True))
            assert same, f"{label}, step {number}: {one} compiled, {other} interpreted"
        explored += sum(len(step) > 2 and step[2] != 2 for step in steps)
    assert explored > 1000  # else nearly everything was the baseline, which shows little
