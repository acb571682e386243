"""`handrail reproduce`: the paper's figures, its claims, and a report."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "reproduce",
        help="run the paper's experiments, draw its figures and check its claims",
        description="Run the paper's experiments, draw its figures and check its claims. The same "
        "command goes on where an earlier one was stopped.",
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="which ones; none: all")
    parser.add_argument("--list", action="store_true", help="list the figures and stop")
    parser.add_argument("--scale", default="quick", help="quick (a first look) or paper")
    parser.add_argument("--out", type=Path, help="the folder; default: out/reproduce-SCALE")
    parser.add_argument(
        "--on",
        default="local",
        metavar="WHERE",
        help="local (default), or a Dask scheduler: tcp://host:port",
    )
    parser.add_argument("--workers", type=int, help="threads; default: one for each core")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument(
        "--force", action="store_true", help="start afresh in a folder that holds other results"
    )
    parser.add_argument("--redraw", action="store_true", help="draw from the tables, run nothing")
    parser.add_argument("--pdf", action="store_true", help="write PDFs too")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the figures and print the claims."""
    from handrail.errors import InputError, nearest
    from handrail.paper.figures import chosen
    from handrail.paper.reproduce import reproduce
    from handrail.paper.scale import SCALES

    plans = chosen(arguments.figures)
    if arguments.list:
        rows = [{"name": plan.name, "title": plan.title} for plan in plans]
        _print_rows(rows, arguments.json)
        return 0
    scale = SCALES.get(arguments.scale)
    if scale is None:
        raise InputError(
            "scale", f"{arguments.scale!r} is not a scale", nearest(arguments.scale, SCALES)
        )
    if arguments.redraw and arguments.force:
        raise InputError("redraw", "--force would remove the tables it draws from", "pass one")
    out = arguments.out or Path("out") / f"reproduce-{scale.name}"
    try:
        outcome = reproduce(
            arguments.figures,
            scale=scale,
            seed=arguments.seed,
            out=out,
            on=arguments.on,
            workers=arguments.workers,
            force=arguments.force,
            redraw=arguments.redraw,
            pdf=arguments.pdf,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except KeyboardInterrupt:
        print(
            f"stopped: what was finished is kept in {out}; the same command, without --force, goes "
            "on from there",
            file=sys.stderr,
        )
        raise
    if arguments.json:
        print(json.dumps(outcome.claims, indent=2, ensure_ascii=False))
    else:
        _print_claims(outcome.claims["claims"])
        print(f"report: {outcome.report}")
    return 0


def _print_claims(claims: list[dict[str, Any]]) -> None:
    from handrail.paper.report import measured_text

    rows = [
        {
            "claim": claim["id"],
            "verdict": claim["verdict"],
            "measured [95 % interval]": measured_text(claim),
            "paper": claim["paper"],
            "what was measured": claim["what"],
        }
        for claim in claims
    ]
    _print_rows(rows, False)


def _print_rows(rows: list[dict[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    columns = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in columns}
    for row in [{name: name for name in columns}, *rows]:
        print("  ".join(row[name].ljust(widths[name]) for name in columns).rstrip())
