"""From a file to a policy."""

from __future__ import annotations

import os
from pathlib import Path

from handrail.policies.policy import Policy

__all__ = ["load_policy"]


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy that `Policy.save` wrote; it goes on bit for bit as if it had never stopped.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Policy
        The policy; its decisions get ids that no other copy gives out.

    Raises
    ------
    InputError
        If the file is damaged, of another kind, or written by a newer version.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import handrail, pathlib, tempfile
    >>> policy = handrail.make_policy("UCB", arms=2, delta=0.1, reward_range=(0, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(pathlib.Path(folder) / "ucb.handrail")
    ...     twin = handrail.load_policy(pathlib.Path(folder) / "ucb.handrail")
    >>> twin.decide().action == policy.decide().action
    True
    """
    return Policy.from_bytes(os.fspath(path), Path(path).read_bytes())
