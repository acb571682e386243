"""What tests about the Jester ratings share: the real copy, where there is one, and look-alikes."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail import InputError

COPY = os.environ.get("HANDRAIL_JESTER", "")
needs_copy = pytest.mark.skipif(
    not COPY, reason="HANDRAIL_JESTER names no copy of the Jester ratings"
)

LOOK_ALIKE = ("100," + ",".join(["1.5"] * 100) + "\n").encode() * 24_983
"""Right in shape, values and counts, and still not the ratings."""


def zipped(*members: tuple[str, bytes]) -> bytes:
    """Return a zip of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def alone(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Let nothing in from outside; return the cache, an empty folder."""
    cache = folder / "cache"
    cache.mkdir()
    monkeypatch.setenv("HANDRAIL_CACHE", str(cache))
    monkeypatch.setenv("no_proxy", "*")
    for name in ("HANDRAIL_JESTER", "HANDRAIL_JESTER_URL"):
        monkeypatch.delenv(name, raising=False)
    return cache


def held(folder: Path) -> dict[str, bytes]:
    """Return all files in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refused(call: Callable[[], object], reason: str, cache: Path) -> InputError:
    """Return the error of a call that leaves the cache as it was."""
    before = held(cache)
    with pytest.raises(InputError) as caught:
        call()
    error = caught.value
    assert error.field == "jester"
    assert reason in error.reason
    assert error.remedy
    assert "\n" not in str(error)
    assert held(cache) == before
    return error
