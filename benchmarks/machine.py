"""What the numbers depend on besides the code."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["machine"]

_PACKAGES = ("handrail", "numpy", "numba", "river", "uvicorn", "msgspec")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine() -> dict[str, str]:
    """Return the processor, the load and the versions."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    found["processor"] = _processor()
    found["cores"] = str(os.cpu_count())
    found["load"] = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
