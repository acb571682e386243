"""A server with a desk that decides nothing, as a process: `python -c SCRIPT FOLDER MODE`.

Its first output lines are those of the real one, in the mode `keys` after a key for an admin.
Decisions of the policy `slow` wait until the file `go` is in the folder, and say so on stdout
before they do.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from fake_desk import FakeDesk, FakeStore
from handrail.service.keys import new_key
from handrail.service.limits import Limits
from handrail.service.logs import log_to
from handrail.service.messages import Answer, DecideRequest
from handrail.service.problems import Problem
from handrail.service.server import Settings, serve
from handrail.service.store.protocol import Store

SCRIPT = "import fake_service; fake_service.main()"


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


class SlowDesk(FakeDesk):
    """Decides when it is told to."""

    def __init__(self, folder: Path, mode: str) -> None:
        super().__init__()
        self.names.append("slow")
        self._go = folder / "go"
        self._mode = mode

    async def start(self) -> None:
        """Begin to work; in the mode `compiling`, do not end that soon."""
        if self._mode == "compiling":
            self.ready = False
            await asyncio.to_thread(self._compile)

    def _compile(self) -> None:
        say("compiling")
        while True:
            pass

    async def stop(self, grace: float) -> None:
        """Say that the end has come."""
        say("desk stopped")

    async def note_used(self, used: dict[str, int]) -> None:
        """Say which keys were used."""
        say(f"used: {' '.join(used)}")

    async def decide(
        self,
        name: str,
        requests: list[DecideRequest],
        batch: bool = False,
        played: Sequence[str] = (),
    ) -> list[Answer]:
        """Decide, if need be when told to; in the mode `broken`, break instead."""
        if name == "slow":
            say("deciding")
            while not self._go.exists():
                await asyncio.sleep(0.005)
        if self._mode == "broken":
            self.broken = OSError("fsync failed")
            raise Problem(503, "the database is broken")
        return await super().decide(name, requests, batch, played)


def main() -> None:
    """Serve."""
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    log_to()
    limits = Limits(shutdown_seconds=float(sys.argv[3]))
    settings = Settings("127.0.0.1", 0, "nothing", auth=mode == "keys", limits=limits)
    desk = SlowDesk(folder, mode)
    if settings.auth:
        key, row = new_key("admin")
        desk.rows.append(row)
        say(key)

    def open_store(source: str) -> Store:
        return FakeStore(desk.rows)

    sys.exit(serve(settings, open_store, lambda *_: desk, say))
