"""The one way code is compiled here: Numba, typed, cached by the content of the sources.

Numba's on-disk cache checks the file of a compiled function but not the files of the functions
it calls: after a rule is edited, its callers would still be served from the cache with the old
rule inside. So the cache folder carries a hash of all sources of the package in its name; an
edit anywhere starts an empty folder.

``HANDRAIL_UNCOMPILED=1``, set before the policies are imported, leaves the compiler out: the same
rules are then run by the interpreter, for those who would trust no compiler. Numba is not even
imported. It is meant for `handrail.policies` and what they rest on; simulations are not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np
import platformdirs

__all__ = ["UNCOMPILED", "cache_folder", "compiled", "inlined", "lean"]

_F = TypeVar("_F", bound=Callable[..., object])

UNCOMPILED: Final = os.environ.get("HANDRAIL_UNCOMPILED", "0") not in ("", "0")
"""Whether the rules of this process are run as they are written."""

_PACKAGE = Path(__file__).parent
_DAYS_KEPT = 30

if UNCOMPILED:
    # The rules count on what IEEE arithmetic gives, as compiled code does without a word.
    np.seterr(all="ignore")
else:
    import numba
    import numba.core.config


def cache_folder() -> Path:
    """Return where handrail keeps what can be made again: ``$HANDRAIL_CACHE`` or the user's cache.

    Returns
    -------
    pathlib.Path
        The folder; it need not exist yet.
    """
    chosen = os.environ.get("HANDRAIL_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("handrail"))


def _sources_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(_PACKAGE)).encode())
        digest.update(b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _prepare() -> str | None:
    """Make the folder for this state of the sources; None where nothing can be written."""
    root = cache_folder() / "compiled"
    folder = root / _sources_hash()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
        os.utime(folder)
    except OSError:
        return None
    horizon = time.time() - _DAYS_KEPT * 86400
    for old in root.iterdir():
        try:
            if old != folder and old.stat().st_mtime < horizon:
                shutil.rmtree(old, ignore_errors=True)
        except OSError:
            continue
    return str(folder)


_FOLDER = None if UNCOMPILED else _prepare()


def compiled(function: _F) -> _F:
    """Compile a function with Numba; it keeps its type and runs without the interpreter's lock.

    The uncompiled function stays reachable as ``function.py_func``, unless nothing is compiled in
    this process: then the function is returned as it is. A division by zero gives what
    IEEE arithmetic gives, not an exception: the check keeps loops from being vectorised, and
    margins that are not numbers are not safe.

    Parameters
    ----------
    function : callable
        A function of numbers, arrays and records.

    Returns
    -------
    callable
        The same function, compiled at its first call, or loaded from the cache.
    """
    return _compile(function, counted=True, inline=False)


def lean(function: _F) -> _F:
    """Compile a function like `compiled` that makes no array.

    Numba counts references to every array that a compiled function is handed, with atomic
    operations; a rule of some nanoseconds would mostly count. A function that makes none has
    nothing to free, so the counting is left out.

    Parameters
    ----------
    function : callable
        A function of numbers, arrays and records that makes no array; Numba refuses others.

    Returns
    -------
    callable
        The same function, compiled.
    """
    return _compile(function, counted=False, inline=False)


def inlined(function: _F) -> _F:
    """Compile a function like `lean`, and put its code into every compiled caller.

    For small functions in loops that take a few nanoseconds a turn: a call hands over each array in
    seven parts or more.

    Parameters
    ----------
    function : callable
        A function of numbers, arrays and records that makes no array.

    Returns
    -------
    callable
        The same function, compiled.
    """
    return _compile(function, counted=False, inline=True)


def _compile(function: _F, *, counted: bool, inline: bool) -> _F:
    if UNCOMPILED:
        return function
    compiler: Any = numba.njit  # its types leave out one of its options
    # All options are said: what is not, a function takes from the one that has it compiled first.
    options = {
        "nogil": True,
        "error_model": "numpy",
        "_nrt": counted,
        "forceinline": inline,
        "no_cfunc_wrapper": True,
    }
    # Numba chooses a function's cache folder while it decorates it, from this setting alone; put
    # back at once, so that other packages' functions go where their users want them.
    config: Any = numba.core.config
    before = config.CACHE_DIR
    config.CACHE_DIR = _FOLDER or before
    try:
        return cast(_F, compiler(cache=_FOLDER is not None, **options)(function))
    finally:
        config.CACHE_DIR = before
