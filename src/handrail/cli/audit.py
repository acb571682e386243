"""`handrail audit`: check every decision of a log, and state the budget."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.database import store_errors

if TYPE_CHECKING:
    from handrail.service.review import Review, Reviewed

__all__ = ["register", "run"]

_UNCOMPILED: Final = "HANDRAIL_UNCOMPILED"
"""As in `handrail.compiled`."""


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "audit",
        help="check every decision of a log and state the budget",
        description=(
            "Fold logs from their first event on, with rules that no compiler touched, and check "
            "every decision: was its action safe when it was taken, is the ledger right, does the "
            "order hold, was a byte altered. Print the budget statement. The exit code is 1 if "
            "anything is wrong. A server may be running."
        ),
    )
    parser.add_argument(
        "source", metavar="SOURCE", help="a database (path or URL) or a file of handrail export"
    )
    parser.add_argument(
        "--head",
        action="append",
        default=[],
        metavar="HASH",
        help="a head that was noted down: a log that lost its tail lacks it; may be repeated",
    )
    parser.add_argument(
        "--heads",
        action="append",
        default=[],
        metavar="FILE",
        help=(
            "compare with the heads in the service's log, in a backup, or with every event of an "
            "exported log; may be repeated"
        ),
    )
    parser.add_argument("--policy", metavar="NAME", help="the only policy to audit")
    parser.add_argument("--json", action="store_true", help="print JSON in place of text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Audit and return 1 if anything is wrong."""
    if os.environ.get(_UNCOMPILED, "0") in ("", "0"):
        return _again(arguments)
    return _audit(arguments)


def _again(arguments: argparse.Namespace) -> int:
    """Run the same command in a process whose rules are not compiled: a process has one kind."""
    given = [arguments.source, *(f"--head={head}" for head in arguments.head)]
    given += [f"--heads={path}" for path in arguments.heads]
    if arguments.policy is not None:
        given.append(f"--policy={arguments.policy}")
    if arguments.json:
        given.append("--json")
    command = [sys.executable, "-P", "-m", "handrail", "audit", *given]
    environment = {**os.environ, _UNCOMPILED: "1"}
    sys.stdout.flush()
    sys.stderr.flush()
    if arguments.whole and os.name == "posix":
        # Whoever ends the process that he started ends the audit.
        os.execve(sys.executable, command, environment)
    return _wait_for(command, environment)


def _wait_for(command: list[str], environment: dict[str, str]) -> int:
    """Run a command in a child; what asks this process to end ends the child first."""
    told: list[int] = []
    with subprocess.Popen(command, env=environment) as child:

        def end(number: int, _: FrameType | None) -> None:
            told.append(number)
            child.terminate()

        with _signals(end):
            try:
                code = child.wait()
            except BaseException:
                child.kill()
                raise
    for number in told[:1]:
        signal.raise_signal(number)  # and this process, as it would have without a child
    return code


@contextlib.contextmanager
def _signals(end: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have a function told what would end this process, and nothing that it sees to itself."""
    before = {}
    if threading.current_thread() is threading.main_thread():  # others cannot
        for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _audit(arguments: argparse.Namespace) -> int:
    from handrail.extras import need_extra

    need_extra("msgspec", "service")
    from handrail.service.heads import read_heads
    from handrail.service.review import Review
    from handrail.service.sources import open_source

    with store_errors():
        source = open_source(arguments.source)
        try:
            noted = [head for path in arguments.heads for head in read_heads(Path(path))]
            review = Review(source, arguments.policy, arguments.head, noted)
            logs = []
            for reviewed in review:
                if arguments.json:
                    logs.append(reviewed.data())
                else:
                    _print(reviewed)
        finally:
            source.close()
    if arguments.json:
        print(json.dumps(_data(arguments.source, review, logs), indent=2))
    else:
        _conclude(review)
    return 0 if review.holds else 1


def _data(source: str, review: Review, logs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "source": source if "://" not in source else source.partition("://")[0] + "://...",
        "holds": review.holds,
        "missing_heads": review.missing,
        "missing_policies": review.gone,
        "events_of_no_policy": review.ownerless,
        "events": review.events,
        "seconds": round(review.seconds, 3),
        "policies": logs,
    }


def _print(reviewed: Reviewed) -> None:
    audit = reviewed.audit
    print(f"== {audit.policy}")
    if reviewed.statement is not None:
        for sentence in reviewed.statement.sentences():
            print(textwrap.fill(sentence, 96, subsequent_indent="    "))
    for head, seq in audit.met.items():
        print(
            f"Noted head {head.hex()[:16]}... is event {seq:,}; {audit.events - seq:,} came after."
        )
    for finding in audit.findings:
        place = "the log" if finding.seq is None else f"event {finding.seq:,}"
        print(f"WRONG: {place}: {finding.reason}")
    if audit.wrong > len(audit.findings):
        print(f"WRONG: {audit.wrong - len(audit.findings):,} more")
    if not audit.whole:
        print(
            f"Nothing after event {audit.folded:,} was taken into the statement; handrail export "
            f"--until {audit.folded} writes the log up to there."
        )
    if reviewed.holds:
        promises = reviewed.statement is not None and reviewed.statement.promises
        safe = ", every decision was safe when it was taken" if promises else ""
        text = f"All {audit.events:,} events are as they were written{safe}, the ledger is right."
        print(textwrap.fill(f"Verdict: holds. {text}", 96, subsequent_indent="    "))
    else:
        print("Verdict: DOES NOT HOLD.")
    print(f"Events: {audit.events:,}")
    print(f"Head:   {audit.head.hex() if audit.events else 'none'}  (note it down)\n")


def _conclude(review: Review) -> None:
    from handrail.service.review import no_event

    for head in review.missing if review.several else ():  # of one log it is a finding
        print(f"WRONG: {no_event(head)}")
    for name in review.gone:
        print(f"WRONG: heads of {name!r} were noted, and there is no such policy")
    for number in review.ownerless:
        print(f"WRONG: there are events of policy number {number}, and there is no such policy")
    rate = review.events / review.seconds if review.seconds > 0 else 0.0
    print(
        f"{review.events:,} events in {review.seconds:.1f} s ({rate:,.0f}/s), rules uncompiled: "
        f"{'all is well' if review.holds else 'something is wrong'}"
    )
