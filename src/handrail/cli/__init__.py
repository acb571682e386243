"""The `handrail` command, one file per subcommand.

Nothing heavy is imported before a subcommand needs it: ``handrail --help`` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from handrail._version import __version__
from handrail.cli import (
    algorithms,
    audit,
    backup,
    certify,
    data,
    export,
    import_,
    keys,
    reproduce,
    serve,
    simulate,
    theory,
)
from handrail.errors import InputError

__all__ = ["main"]

_SUBCOMMANDS = (
    algorithms,
    audit,
    backup,
    certify,
    data,
    export,
    import_,
    keys,
    reproduce,
    serve,
    simulate,
    theory,
)


class _Parser(argparse.ArgumentParser):
    """Reports bad usage in the one-line form of every other error."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise InputError("command line", message, f"see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="handrail",
        description="Learn online without falling below the policy that runs today.",
    )
    parser.add_argument("--version", action="version", version=f"handrail {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for module in _SUBCOMMANDS:
        module.register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 if all is well, 1 for a negative verdict, 2 for bad input, 130 after Ctrl-C.
    """
    parser = _parser()
    try:
        chosen = parser.parse_args(arguments)
        chosen.whole = arguments is None  # the process is the command's: it may become another
        if not hasattr(chosen, "run"):
            parser.print_help()
            code = 0
        else:
            code = int(chosen.run(chosen))
        sys.stdout.flush()  # what cannot be written is found here, not after the exit code
        return code
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # The interpreter flushes once more when it exits: let it do so into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 0  # the reader went away (`handrail algorithms | head`): not our error
        print(f"error: output: {error.strerror}; see to the place it goes to", file=sys.stderr)
        return 2
