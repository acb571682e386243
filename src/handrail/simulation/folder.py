"""The folder that a run writes to: whose results it holds, and whether this run may use it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from handrail.errors import InputError
from handrail.files import write
from handrail.simulation.experiment import plain
from handrail.simulation.store import check_unused

__all__ = ["SETTINGS", "open_folder"]

SETTINGS: Final = "settings.json"
"""The file that says whose results a folder holds."""

_NAMED: Final = 3
"""So many differences, or strangers' files, are named."""
_LONGEST: Final = 40
_PART: Final = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part")
"""What a killed process may leave of a file that was being written."""
_MISSING: Final = object()


def open_folder(
    path: Path,
    settings: Mapping[str, Any],
    *,
    owned: Collection[str],
    needed_bytes: int,
    force: bool,
) -> None:
    """Make the folder ready for a run with these settings, or refuse and change nothing.

    A folder that holds results of the same settings is gone on with. With `force` the run starts
    afresh, whatever is there.

    Parameters
    ----------
    path : pathlib.Path
        The folder; made if it is missing.
    settings : mapping
        All that the results depend on, as JSON can hold it.
    owned : collection of str
        What runs write there: names of files or folders, or paths of files such as
        ``mab/runs.parquet``. With `force` these are removed, and nothing else ever is; a folder
        goes with all that it holds, or, where only files in it are named, once it is empty.
    needed_bytes : int
        How much disk space the results take.
    force : bool
        Start afresh.

    Raises
    ------
    InputError
        It is no folder, cannot be written, has too little space, holds other results or files of
        others, or (with `force`) another process works in it.
    """
    wanted = json.loads(json.dumps(settings, allow_nan=False, default=plain))
    mine = [_inside(name) for name in (SETTINGS, *owned)]
    existing = _check_usable(path)
    there = [path / each for each in mine] if existing == path else []
    if there and not force:
        _check_settings(path, wanted, mine)
    _check_space(existing, there, needed_bytes)
    if force:
        for each in there:
            check_unused(each)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if force:
            _clear(path, mine)
        if not (path / SETTINGS).exists():
            write(path / SETTINGS, (json.dumps(wanted, indent=1) + "\n").encode())
    except OSError as error:
        raise InputError(
            "out", f"{error.filename or path}: {error.strerror or error}", "choose another folder"
        ) from error


def _inside(name: str) -> PurePosixPath:
    """Return a name as a path below the folder; what is removed depends on it."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} is not a path inside a folder")
    return path


def _check_usable(path: Path) -> Path:
    """Return the folder, or the one above it in which it can be made."""
    existing = path
    while not os.path.lexists(existing):
        existing = existing.parent
    if not existing.is_dir():
        raise InputError("out", f"{existing} is not a folder", "choose another")
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        raise InputError("out", f"{existing} cannot be written", "choose another folder")
    return existing


def _check_space(folder: Path, mine: list[Path], needed: int) -> None:
    free = shutil.disk_usage(folder).free
    # What is there already need not be written, or makes room when it is removed.
    have = sum(_size(each) for each in mine)
    if free + have < needed:
        raise InputError(
            "out",
            f"needs {_bytes(needed - have)} of disk space, {_bytes(free)} is free in {folder}",
            "free some, or choose another folder",
        )


def _check_settings(path: Path, wanted: Any, mine: list[PurePosixPath]) -> None:
    """Refuse a folder that holds anything but results of these settings."""
    file = path / SETTINGS
    if not os.path.lexists(file):
        strangers = sorted(each.name for each in path.iterdir() if not _leftover(each.name, mine))
        if strangers:
            raise InputError(
                "out",
                f"{path} holds {_list(strangers)} but no {SETTINGS} of a run",
                "choose another folder, or use it all the same with --force",
            )
        return
    try:
        held = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            "out", f"{file} cannot be read ({error})", "start afresh with --force"
        ) from error
    differences = list(_differences("", held, wanted))
    if differences:
        raise InputError(
            "out",
            f"{path} holds results of {_list(f'{name} {old}' for name, old, _ in differences)},"
            f" this run has {_list(f'{name} {new}' for name, _, new in differences)}",
            "choose another folder, or start afresh with --force",
        )


def _differences(name: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield each field that differs, with its two values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*new, *old]):
            inner = f"{name}.{key}" if name else key
            yield from _differences(inner, old.get(key, _MISSING), new.get(key, _MISSING))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{name}[{place}]", one, other)
    elif old is _MISSING or new is _MISSING or old != new:
        yield name or "settings", _show(old), _show(new)


def _clear(path: Path, mine: list[PurePosixPath]) -> None:
    """Remove what runs wrote; the settings come first, so that half of it is never resumed."""
    for each in mine:
        entry = path / each
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)
    for folder in sorted({(path / each).parent for each in mine}, reverse=True):
        if folder.is_dir():
            entries = list(folder.iterdir())
            parts = [entry for entry in entries if _leftover(entry.name, mine)]
            for part in parts:
                part.unlink()
            if folder != path and len(parts) == len(entries) and not folder.is_symlink():
                folder.rmdir()


def _leftover(name: str, mine: list[PurePosixPath]) -> bool:
    """Return whether this is a piece of one of these files, left by a process that was killed."""
    match = _PART.fullmatch(name)
    return match is not None and any(each.name == match[1] for each in mine)


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; 0 where there is none."""
    if path.is_dir() and not path.is_symlink():
        return sum(_size(each) for each in path.iterdir())
    return path.lstat().st_size if os.path.lexists(path) else 0


def _bytes(count: int) -> str:
    """Return a number of bytes for people.

    >>> _bytes(3_100_000_000), _bytes(512)
    ('3.1 GB', '512 B')
    """
    for power, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= power:
            return f"{count / power:.1f} {unit}"
    return f"{count} B"


def _list(names: Iterable[str]) -> str:
    """Return names as one phrase.

    >>> _list(["a"]), _list(["a", "b", "c"]), _list("abcdef")
    ('a', 'a, b and c', 'a, b, c and 3 more')
    """
    shown = list(names)
    if len(shown) > _NAMED:
        shown[_NAMED:] = [f"{len(shown) - _NAMED} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _show(value: Any) -> str:
    text = "unset" if value is _MISSING else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
