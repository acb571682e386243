"""The workers of a cluster: which there are, and which run the same code as we do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.simulation.cluster.worker import identity

__all__ = ["REMEDY", "Roster"]

REMEDY: Final = (
    "install the same handrail, numpy and numba on all of the cluster, and start it again"
)

# Text, not functions: see `run`.
_PROBE: Final = "__import__('handrail.simulation.cluster.worker', fromlist=['probe']).probe()"
_VERSION: Final = "__import__('handrail').__version__"


class Roster:
    """The workers of a cluster; its coroutines run in the client's event loop.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.

    Attributes
    ----------
    code : str
        The fingerprint of our code.
    threads : dict
        The threads of each worker that runs our code, by its address.
    refused : dict
        What is wrong with each of the others.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._ours = identity()
        self.code: Final = self._ours["code"]
        self.threads: dict[str, int] = {}
        self.refused: dict[str, str] = {}

    async def look(self) -> list[str]:
        """See which workers there are, and ask the new ones who they are.

        Returns
        -------
        list of str
            What is wrong with each worker that was refused just now.
        """
        there: Mapping[str, int] = await self._client.nthreads()
        for known in (self.threads, self.refused):
            for address in set(known) - set(there):
                del known[address]
        new = [each for each in there if each not in self.threads and each not in self.refused]
        if not new:
            return []
        answers = await self._client.run(eval, _PROBE, workers=new, on_error="return")
        wrong = []
        for address, answer in answers.items():
            if answer == self._ours:
                self.threads[address] = there[address]
            elif not isinstance(answer, OSError):  # that one has gone again
                wrong.append(self.refuse(address, await self._difference(address, answer)))
        return wrong

    def refuse(self, address: str, difference: str) -> str:
        """Strike a worker off the roster.

        Parameters
        ----------
        address : str
            The worker's.
        difference : str
            What is wrong with it.

        Returns
        -------
        str
            The same, with its address.
        """
        self.threads.pop(address, None)
        self.refused[address] = f"worker {address} {difference}"
        return self.refused[address]

    async def _difference(self, address: str, answer: Mapping[str, str] | Exception) -> str:
        """Return how a worker differs from us."""
        if isinstance(answer, Exception):
            asked = {"workers": [address], "on_error": "return"}
            version = (await self._client.run(eval, _VERSION, **asked)).get(address)
            if isinstance(version, str):
                return f"has handrail {version}, this process {self._ours['handrail']} ({answer})"
            return f"cannot import handrail ({answer})"
        # The version also where it is the same: the code alone says little.
        names = [
            name
            for name, value in self._ours.items()
            if name == "handrail" or answer.get(name) != value
        ]
        theirs = ", ".join(f"{name} {answer.get(name)}" for name in names)
        ours = ", ".join(f"{name} {self._ours[name]}" for name in names)
        return f"has {theirs}; this process has {ours}"
