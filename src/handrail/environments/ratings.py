"""Real people's ratings: each user is a problem, the items are the arms."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from handrail import checks
from handrail.counter import root
from handrail.environments.drawing import PROBLEMS, check_rank, dot, ranked, rescaled, uniforms
from handrail.environments.jester import jester_matrix, load_jester
from handrail.environments.problem import FixedProblem
from handrail.environments.table import read_ratings
from handrail.errors import InputError
from handrail.records import Floats

__all__ = ["Ratings", "factorise"]

_FLAT: Final = 1e-9
"""A user whose means differ by less has no best item."""


class Factors(NamedTuple):
    """A ratings table as inner products: ratings[u, i] ~ <users[u], items[i]>."""

    users: Floats
    items: Floats


def factorise(table: Floats, rank: int) -> Factors:
    """Return the truncated singular value decomposition U diag(s) V' of a ratings table.

    Parameters
    ----------
    table : numpy.ndarray of shape (users, items)
        Complete ratings.
    rank : int
        Singular values kept.

    Returns
    -------
    Factors
        users = rows of U diag(s), items = rows of V.

    Notes
    -----
    V holds the leading eigenvectors of table' table, and U diag(s) = table V. The small
    symmetric matrix takes one thread and a fraction of the time of a decomposition of the table.
    """
    _, vectors = np.linalg.eigh(np.einsum("ui,uj->ij", table, table))
    items = np.ascontiguousarray(vectors[:, ::-1][:, :rank])
    return Factors(np.einsum("ui,ir->ur", table, items), items)


@lru_cache(maxsize=4)
def _load(table: str, modified: int, rank: int) -> tuple[Factors, str]:
    """Return the factors of a table and the hash of its content; kept while it is unchanged."""
    ratings = jester_matrix(load_jester()) if table == "jester" else read_ratings(Path(table))
    users, items = ratings.shape
    if not 1 <= rank <= min(users, items):
        raise InputError(
            "rank",
            f"{rank} is no rank of {users} x {items} ratings",
            f"pass 2 to {min(users, items)}",
        )
    return factorise(ratings, rank), hashlib.sha256(ratings.tobytes()).hexdigest()


class Ratings:
    """Users of a complete ratings table, each a linear problem over the items; Gaussian rewards.

    Parameters
    ----------
    table : str, default="jester"
        "jester", or the path of a csv or parquet file: users are rows, items columns, no gaps.
    rank : int, default=35
        d: the length of the features, the leading factors of the table.
    baseline_rank : int, default=10
        The baseline is the user's item with this rank, 1 being the best.
    noise : float, default=0.1
        Standard deviation of the rewards.

    Notes
    -----
    The truncated singular value decomposition U diag(s) V' gives the items' features, rows of V,
    and the users' theta, rows of U diag(s). For each user features are shifted and scaled so that
    the best mean is 1 and the worst 0, as in `Linear`. Problems are users in an order drawn from
    the seed, none twice; users who rate everything alike are left out.

    References
    ----------
    K. Goldberg, T. Roeder, D. Gupta, C. Perkins (2001). Eigentaste: a constant time
    collaborative filtering algorithm. E. Garcelon et al. (2020), Improved algorithms for
    conservative exploration in bandits, section 5.
    """

    def __init__(
        self,
        table: str = "jester",
        rank: int = 35,
        baseline_rank: int = 10,
        noise: float = 0.1,
    ) -> None:
        self.table = str(table)
        self.rank = checks.whole("rank", rank, least=2)
        self.baseline_rank = checks.whole("baseline_rank", baseline_rank)
        self.noise = checks.positive("noise", noise)
        path = Path(self.table)
        modified = path.stat().st_mtime_ns if self.table != "jester" and path.exists() else 0
        (self._users, self._items), self._content = _load(self.table, modified, self.rank)
        check_rank(self.baseline_rank, len(self._items))
        means = np.einsum("ur,ir->ui", self._users, self._items)
        self._candidates = np.flatnonzero(means.max(axis=1) - means.min(axis=1) > _FLAT)
        if not len(self._candidates):
            raise InputError(
                "table", "every user rates all items alike", "pass ratings that tell items apart"
            )

    def problem(self, seed: int, index: int) -> FixedProblem:
        """Return a problem, always the same one for the same seed and index."""
        if index >= len(self._candidates):
            raise InputError(
                "problems", f"the table has {len(self._candidates)} users", "ask for fewer problems"
            )
        chances = np.empty(len(self._users))
        uniforms(root(seed, PROBLEMS), 0, chances)
        order = np.argsort(chances[self._candidates], kind="stable")
        theta = self._users[self._candidates[order[index]]]
        features, means = rescaled(self._items, theta)
        return FixedProblem(
            means=means,
            features=features,
            baseline=ranked(means, self.baseline_rank),
            rewards="gaussian",
            noise=self.noise,
            theta_bound=float(np.sqrt(dot(theta, theta))),
        )

    def describe(self) -> dict[str, Any]:
        """Return what determines the problems besides seed and index."""
        return {
            "content": self._content,
            "rank": self.rank,
            "baseline_rank": self.baseline_rank,
            "noise": self.noise,
        }
