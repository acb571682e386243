"""Start-up: wall time of fresh processes, with the compiled code on disk and without."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.measure import Row, interleave, median, ratio, timed

__all__ = ["handrail_command", "rows"]

REPETITIONS, WARM = 9, 5
BARE = "python -c pass"
_DECIDE = (
    "import handrail; handrail.make_policy('CUCB2', arms=3, baseline=0, baseline_mean=0.5,"
    " alpha=0.1, delta=0.05, reward_range=(0, 1)).decide()"
)
LIMITS = {"import handrail": 1.0, "handrail --help": 0.3}
SIMULATED = {
    "bernoulli": "CUCB2",
    "linear": "CLUCB2",
    "contextual-linear": "CLUCB2",
}
"""One environment for each compiled kernel."""
COLD, HOT = 20.0, 2.0
"""Seconds allowed for the first simulation, with nothing compiled yet and with everything."""


def handrail_command() -> list[str]:
    """Return the command `handrail` of this environment."""
    script = Path(sys.executable).parent / "handrail"
    return [str(script)] if script.exists() else [sys.executable, "-m", "handrail"]


def _commands() -> dict[str, list[str]]:
    return {
        BARE: [sys.executable, "-c", "pass"],
        "import handrail": [sys.executable, "-c", "import handrail"],
        "handrail --help": [*handrail_command(), "--help"],
        "import and load make_policy": [sys.executable, "-c", "from handrail import make_policy"],
        "import to first decision": [sys.executable, "-c", _DECIDE],
    }


def _seconds(command: list[str], cache: str | None = None) -> float:
    """Return the wall time of a process, with a cache folder of its own if there is one."""
    env = os.environ if cache is None else {**os.environ, "HANDRAIL_CACHE": cache}
    return timed(
        lambda: subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
        )
    )


def _policies() -> list[Row]:
    """Measure; the turn that is not counted fills the caches, so the compiled code is on disk."""
    seconds = interleave(
        {name: partial(_seconds, command) for name, command in _commands().items()}, REPETITIONS
    )
    found = []
    for name, taken in seconds.items():
        note = "" if name == BARE else f"{ratio(taken, seconds[BARE]):.1f} times {BARE}"
        found.append(
            Row("start-up", name, median(taken) / 1e6, "s", limit=LIMITS.get(name), note=note)
        )
    with tempfile.TemporaryDirectory() as empty:
        cold = _seconds([sys.executable, "-c", _DECIDE], empty)
    found.append(Row("start-up", "import to first decision, nothing compiled yet", cold, "s"))
    return found


def _simulations() -> list[Row]:
    """Measure a tiny simulation, from the start of the process to its end."""
    found = []
    for environment, algorithm in SIMULATED.items():
        command = [*handrail_command(), "simulate", environment, "--algorithms", algorithm]
        command += ["--rounds", "100", "--runs", "1"]
        with tempfile.TemporaryDirectory() as cache:
            cold = _seconds(command, cache)
            warm = statistics.median(_seconds(command, cache) for _ in range(WARM))
        name = f"handrail simulate {environment}"
        found += [
            Row("start-up of simulations", f"{name}, cold cache", cold, "s", limit=COLD),
            Row("start-up of simulations", f"{name}, warm cache", warm, "s", limit=HOT),
        ]
    return found


def rows() -> list[Row]:
    """Measure."""
    return [*_policies(), *_simulations()]
