"""Start-up: wall time of fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.measure import Row, interleave, median, ratio, timed

REPETITIONS = 9
BARE = "python -c pass"
_DECIDE = (
    "import handrail; handrail.make_policy('CUCB2', arms=3, baseline=0, baseline_mean=0.5,"
    " alpha=0.1, delta=0.05, reward_range=(0, 1)).decide()"
)
LIMITS = {"import handrail": 1.0, "handrail --help": 0.3}


def _commands() -> dict[str, list[str]]:
    script = Path(sys.executable).parent / "handrail"
    command = [str(script)] if script.exists() else [sys.executable, "-m", "handrail"]
    return {
        BARE: [sys.executable, "-c", "pass"],
        "import handrail": [sys.executable, "-c", "import handrail"],
        "handrail --help": [*command, "--help"],
        "import and load make_policy": [sys.executable, "-c", "from handrail import make_policy"],
        "import to first decision": [sys.executable, "-c", _DECIDE],
    }


def rows() -> list[Row]:
    """Measure; the turn that is not counted fills the caches, so the compiled code is on disk."""

    def start(command: list[str]) -> float:
        return timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

    seconds = interleave(
        {name: partial(start, command) for name, command in _commands().items()},
        REPETITIONS,
    )
    found = []
    for name, taken in seconds.items():
        note = "" if name == BARE else f"{ratio(taken, seconds[BARE]):.1f} times {BARE}"
        found.append(
            Row("start-up", name, median(taken) / 1e6, "s", limit=LIMITS.get(name), note=note)
        )
    with tempfile.TemporaryDirectory() as empty:
        cold = timed(
            lambda: subprocess.run(
                [sys.executable, "-c", _DECIDE],
                check=True,
                env={**os.environ, "HANDRAIL_CACHE": empty},
            )
        )
    found.append(Row("start-up", "import to first decision, nothing compiled yet", cold, "s"))
    return found
