"""The whole reproduction at the paper's scale: time and memory of one process with two workers."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, timed
from handrail.paper.figures import FIGURES

SCALE, WORKERS = "paper", 2
SECONDS, AIM = 900.0, 300.0
MEMORY = 2.0
"""GB."""
GROUP = f"handrail reproduce --scale {SCALE}, {WORKERS} workers"


def run(out: Path) -> tuple[float, resource.struct_rusage]:
    """Reproduce everything into a folder; return the wall seconds and what the process used."""
    command = [sys.executable, "-m", "handrail", "reproduce", "--scale", SCALE]
    command += ["--workers", str(WORKERS), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    ended: list[tuple[int, int, resource.struct_rusage]] = []
    seconds = timed(lambda: ended.append(os.wait4(process.pid, 0)))
    _, status, used = ended[0]
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, used


def missing(out: Path) -> list[str]:
    """Return the figures that were not made."""
    return [name for name in FIGURES if not (out / name / f"{name}.png").is_file()]


def rows(out: Path | None = None) -> list[Row]:
    """Measure, in a temporary folder or in one that is empty."""
    if out is None:
        with tempfile.TemporaryDirectory() as folder:
            return rows(Path(folder) / "paper")
    if out.exists() and any(out.iterdir()):
        raise SystemExit(f"{out} is not empty: what is in there would not be computed again")
    seconds, used = run(out)
    absent = missing(out)
    whole = f"without {', '.join(absent)} (no data)" if absent else f"all {len(FIGURES)} figures"
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
    return [
        Row(GROUP, "wall time", seconds, "s", limit=SECONDS, note=whole, aim=AIM),
        Row(GROUP, "CPU time", used.ru_utime, "s", note=f"system {used.ru_stime:.0f} s"),
        Row(GROUP, "peak memory", peak, "GB", limit=MEMORY),
    ]
