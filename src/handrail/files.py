"""Files that hold the old content or the new at every moment, also after a crash."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

__all__ = ["beside", "parts", "replacing", "sync_folder", "write"]


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the file by this content, or leave it as it was and raise.

    Written to a temporary file in the same folder, brought to disk, then renamed.

    Parameters
    ----------
    path : path
        The file; its folder exists.
    content : bytes
        All of the new content.
    """
    with replacing(path) as part, part.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Let the block make a file, which then takes the place of the file of this name.

    The block brings what it writes to disk. If it raises, the file stays as it was.

    Parameters
    ----------
    path : path
        The file to replace; its folder exists.

    Yields
    ------
    Path
        Where the block makes the new file.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing to the file it points to
    part = beside(target)
    try:
        yield part
        with contextlib.suppress(FileNotFoundError):
            part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    sync_folder(target.parent)


def beside(path: Path) -> Path:
    """Return the name of a new temporary file in the same folder."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def parts(path: Path) -> list[Path]:
    """Return the temporary files of this one that are there: in use, or left by a kill."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.part")
    return [each for each in path.parent.iterdir() if name.fullmatch(each.name)]


def sync_folder(folder: Path) -> None:
    """Bring new names in a folder to disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
