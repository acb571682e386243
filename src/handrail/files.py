"""Files that hold the old content or the new at every moment, also after a crash."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

__all__ = ["write"]


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
    target = Path(os.path.realpath(path))  # a link keeps pointing to the file it points to
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Bring the rename itself to disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
