"""`handrail certify`: count the runs that break the promise."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from handrail.cli.parameters import read_parameters
from handrail.errors import InputError

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "certify",
        help="measure how often an algorithm breaks its promise",
        description=(
            "Run an algorithm on independent problems, count the runs in which the true budget was "
            "ever below 0, and compare the share's Clopper-Pearson interval with delta. The exit "
            "code is 1 if the whole interval is above delta."
        ),
    )
    parser.add_argument("algorithm", metavar="ALGORITHM", nargs="?", help="a catalogue name")
    parser.add_argument(
        "--environment", metavar="E", help="loud, traps, late-clicks, fallbacks, ..."
    )
    parser.add_argument("--alpha", type=float, metavar="A", help="share that may be given up")
    parser.add_argument("--delta", type=float, metavar="D", help="probability of a violation")
    parser.add_argument("--runs", type=int, metavar="N", help="default: 100 / delta, rounded up")
    parser.add_argument("--rounds", type=int, metavar="N", help="of every run; default: 1000")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same bits")
    parser.add_argument(
        "--schedule",
        metavar="X",
        help=(
            "every-round, every:T, list:c1,c2,..., min-gap:T, gaps:NAME(numbers) with a "
            "distribution of scipy.stats, or adversarial"
        ),
    )
    parser.add_argument(
        "--baseline",
        metavar="X",
        help=(
            "what is known of its mean: known (default), interval:BELOW,ABOVE, doubtful:CHANCE "
            "or learned"
        ),
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="K=V",
        help="a parameter of the environment or, as policy.K=V, of the policy; may be repeated",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="default: all cores")
    parser.add_argument("--out", metavar="FILE", help="write the result here, as JSON")
    parser.add_argument("--json", action="store_true", help="print JSON in place of text")
    parser.add_argument(
        "--all",
        action="store_true",
        help="certify every conservative entry of the catalogue and the controls: minutes",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Certify, print the verdict and return 1 if it is negative."""
    out = None if arguments.out is None else Path(arguments.out)
    if out is not None and not out.parent.is_dir():
        raise InputError("--out", f"{out.parent} is no folder", "name a file in one that is there")
    return _all(arguments, out) if arguments.all else _one(arguments, out)


def _one(arguments: argparse.Namespace, out: Path | None) -> int:
    from handrail.certificate.certify import ROUNDS, certify

    for field in ("algorithm", "environment", "alpha", "delta"):
        if getattr(arguments, field) is None:
            raise InputError(field, "is required", "name it, or certify everything with --all")
    found = certify(
        arguments.algorithm,
        arguments.environment,
        arguments.alpha,
        arguments.delta,
        arguments.runs,
        arguments.seed,
        arguments.schedule,
        baseline=arguments.baseline or "known",
        rounds=ROUNDS if arguments.rounds is None else arguments.rounds,
        parameters=read_parameters(arguments.param),
        workers=arguments.workers,
    )
    result = found.as_dict()
    _write(out, result)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(
            f"{found.algorithm} on {found.environment}, alpha {found.alpha:g}, delta "
            f"{found.delta:g}, checked {found.schedule}, baseline {found.baseline}: {found.runs} "
            f"runs of {found.rounds} rounds, each on a problem of its own, seed {found.seed}"
        )
        print(
            f"violated: {found.violations} runs, share {found.share:.4f}, "
            f"{100 * found.confidence:g} % interval {found.low:.4f} to {found.high:.4f}"
        )
        print(f"verdict: {found.verdict} ({_MEANING[found.verdict]})")
    return 0 if found.holds else 1


_MEANING = {
    "holds": "the whole interval is at most delta",
    "not refuted": "delta lies in the interval: more runs would tell",
    "fails": "the whole interval is above delta; false with probability 5e-5 at most",
}


def _all(arguments: argparse.Namespace, out: Path | None) -> int:
    from handrail.certificate.cases import GROUPS, cases
    from handrail.certificate.report import judge_all, line, summary

    single = (
        "algorithm",
        "environment",
        "alpha",
        "delta",
        "runs",
        "rounds",
        "schedule",
        "baseline",
    )
    for field in single:
        if getattr(arguments, field) is not None:
            raise InputError(field, "is not for --all", "leave it out")
    if arguments.param:
        raise InputError("--param", "is not for --all", "leave it out")
    report = judge_all(
        cases(),
        seed=arguments.seed,
        workers=arguments.workers,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    _write(out, report)
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        for group, heading in GROUPS.items():
            print(f"\n{heading}")
            for row in report["certificates"]:
                if row["group"] == group:
                    print(f"  {line(row)}")
        print(f"\n{summary(report)}")
    return 0 if report["as_expected"] else 1


def _write(out: Path | None, result: dict[str, Any]) -> None:
    if out is None:
        return
    try:
        out.write_text(json.dumps(result, indent=1) + "\n")
    except OSError as error:
        raise InputError(
            "--out", f"{out} cannot be written: {error.strerror}", "name another file"
        ) from error
