"""The Jester joke ratings: checked by their content, kept in the cache, never shipped.

`fetch_jester` downloads the original from the Jester project's site, or from the address in
``HANDRAIL_JESTER_URL``; `take_jester` takes a copy that is already there. What is kept is the
same either way. `load_jester` also reads a copy named by ``HANDRAIL_JESTER`` without keeping it.

References
----------
K. Goldberg, T. Roeder, D. Gupta, C. Perkins (2001). Eigentaste: a constant time collaborative
filtering algorithm. Information Retrieval 4(2), 133-151.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handrail.compiled import cache_folder
from handrail.environments.download import download
from handrail.environments.jester_check import (
    FIELD,
    JOKES,
    NOT_RATED,
    SHA256,
    USERS,
    Ratings,
    check_ratings,
)
from handrail.environments.jester_files import read_file, rows_of
from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.files import write
from handrail.records import Floats

__all__ = [
    "ACKNOWLEDGEMENT",
    "URL",
    "fetch_jester",
    "is_kept",
    "jester_file",
    "jester_matrix",
    "load_jester",
    "most_rated",
    "take_jester",
]

URL: Final = "https://eigentaste.berkeley.edu/dataset/jester_dataset_1_1.zip"
ACKNOWLEDGEMENT: Final = (
    'K. Goldberg, T. Roeder, D. Gupta, C. Perkins, "Eigentaste: A Constant Time Collaborative '
    'Filtering Algorithm", Information Retrieval 4(2), 133-151, 2001'
)

_LIMIT: Final = 64_000_000
_BYTES: Final = USERS * JOKES * 2
_HEADER: Final = 4096
"""Bytes, at the most."""
_BY_HAND: Final = "get the file by hand and run `handrail data jester --file PATH`"


def load_jester() -> Ratings:
    """Return the ratings from the cache, or else from the copy ``HANDRAIL_JESTER`` names.

    Returns
    -------
    array of int16, shape (24983, 100)
        Ratings x 100, from -1000 to 1000; 9900 where a user did not rate a joke. Read-only.

    Raises
    ------
    InputError
        If there is no copy, or its content is not the original's.
    """
    ratings = _kept()
    if ratings is not None:
        return ratings
    copy = os.environ.get("HANDRAIL_JESTER")
    if copy:
        return check_ratings(rows_of(copy, read_file(copy)))
    raise InputError(
        FIELD,
        "the ratings are not in the cache",
        "run `handrail data jester`, or `handrail data jester --file PATH` with a copy",
    )


def fetch_jester(
    url: str | None = None, *, timeout: float = 30.0, say: Callable[[str], None] | None = None
) -> Path:
    """Download the original, check it and keep it in the cache.

    Parameters
    ----------
    url : str, optional
        Where from; by default ``HANDRAIL_JESTER_URL``, or else the Jester project's site.
    timeout : float, default=30
        Seconds to wait for the server each time nothing comes.
    say : callable, optional
        Told, in one line, what is downloaded from where, and its size.

    Returns
    -------
    pathlib.Path
        The file in the cache.

    Raises
    ------
    InputError
        If it cannot be had, or is not the original; the cache is as it was.
    """
    address = url or os.environ.get("HANDRAIL_JESTER_URL") or URL
    if address == URL:
        need_extra("xlrd", "xls")  # the original is an .xls: better said before the download
    content = download(
        FIELD, address, limit=_LIMIT, timeout=timeout, remedy=_BY_HAND, say=say or (lambda _: None)
    )
    try:
        ratings = check_ratings(rows_of(address, content))
    except InputError as error:
        if error.field != FIELD:
            raise
        raise InputError(
            FIELD, f"the download is not the original: {error.reason}", _BY_HAND
        ) from error
    return _keep(ratings)


def take_jester(path: str | os.PathLike[str]) -> Path:
    """Check a local copy, a .zip, .csv or .xls, and keep its content in the cache.

    Parameters
    ----------
    path : path
        The copy; .xls needs the extra ``handrail[xls]``.

    Returns
    -------
    pathlib.Path
        The file in the cache.

    Raises
    ------
    InputError
        If it is not the original; the cache is as it was.
    """
    return _keep(check_ratings(rows_of(str(path), read_file(path))))


def jester_file() -> Path:
    """Return where the ratings are kept, whether they are there or not."""
    return cache_folder() / "data" / "jester.npy"


def is_kept() -> bool:
    """Tell whether the ratings are in the cache, whole."""
    try:
        return _kept() is not None
    except InputError:
        return False


def most_rated(ratings: Ratings, jokes: int = 40) -> NDArray[np.intp]:
    """Return the columns of the jokes with the most ratings, in their order in the table.

    Examples
    --------
    >>> most_rated(np.array([[1, 9900, 3], [4, 9900, 9900]], np.int16), jokes=2).tolist()
    [0, 2]
    """
    counts = (ratings != NOT_RATED).sum(axis=0)
    return np.sort(np.argsort(-counts, kind="stable")[:jokes])


def jester_matrix(ratings: Ratings) -> Floats:
    """Return the complete matrix: the 40 most-rated jokes, the users who rated all of them.

    Parameters
    ----------
    ratings : array of int16, shape (24983, 100)
        What `load_jester` returns.

    Returns
    -------
    array of float, shape (19181, 40)
        Ratings / 10, in [-1, 1].
    """
    chosen = ratings[:, most_rated(ratings)]
    complete: Floats = chosen[(chosen != NOT_RATED).all(axis=1)] / 1000.0
    return complete


def _kept() -> Ratings | None:
    """Return the ratings from the cache, None where they are not there."""
    path = jester_file()
    try:
        with path.open("rb") as file:
            content = file.read(_BYTES + _HEADER)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            FIELD, f"{path} cannot be read ({error.strerror})", "see to the file"
        ) from error
    # The ratings are the end of the file and known to the bit: its header needs no parsing.
    ratings = content[-_BYTES:]
    if hashlib.sha256(ratings).hexdigest() != SHA256:
        raise InputError(FIELD, f"{path} is damaged", "run `handrail data jester` again")
    return np.frombuffer(ratings, "<i2").astype(np.int16, copy=False).reshape(USERS, JOKES)


def _keep(ratings: Ratings) -> Path:
    path = jester_file()
    content = io.BytesIO()
    np.save(content, ratings.astype("<i2", copy=False), allow_pickle=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, content.getvalue())
    except OSError as error:
        raise InputError(
            FIELD,
            f"cannot be kept in {path.parent} ({error.strerror})",
            "make room or set HANDRAIL_CACHE to another folder",
        ) from error
    return path
