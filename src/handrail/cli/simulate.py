"""`handrail simulate`: algorithms on an environment, for one's own question."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from handrail.cli.parameters import read_parameters

__all__ = ["register", "run"]


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "simulate",
        help="run algorithms on an environment",
        description=(
            "Run algorithms on problems drawn from an environment; print what came out, and keep "
            "the tables with --out. The same command goes on from where it was interrupted."
        ),
    )
    parser.add_argument("environment", metavar="ENVIRONMENT", help="bernoulli, linear, ...")
    parser.add_argument("--algorithms", required=True, metavar="A,B", help="names, with commas")
    parser.add_argument("--rounds", type=int, required=True, metavar="N", help="the horizon")
    parser.add_argument("--runs", type=int, default=10, metavar="R", help="runs of each problem")
    parser.add_argument("--problems", type=int, default=1, metavar="P", help="problems drawn")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same bits")
    parser.add_argument("--points", type=int, default=500, metavar="N", help="rounds recorded")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="K=V",
        help=(
            "a parameter of the environment or of policies; policy.K=V where both have it, "
            "ALGORITHM.K=V for one algorithm; may be repeated"
        ),
    )
    parser.add_argument("--out", metavar="DIR", help="write curves.parquet and runs.parquet here")
    parser.add_argument("--force", action="store_true", help="replace another run's results")
    parser.add_argument(
        "--on",
        default="local",
        metavar="WHERE",
        help="local (default), or a Dask scheduler: tcp://host:port",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="threads; default: all cores")
    parser.add_argument(
        "--engine", default="fast", metavar="E", help="fast, or plain: no shortcuts"
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment and print one line an algorithm."""
    from handrail.simulation.simulate import make_experiment, run_experiment
    from handrail.simulation.summary import summarise

    experiment = make_experiment(
        arguments.environment,
        [name.strip() for name in arguments.algorithms.split(",") if name.strip()],
        read_parameters(arguments.param),
        rounds=arguments.rounds,
        runs=arguments.runs,
        problems=arguments.problems,
        seed=arguments.seed,
        points=arguments.points,
        engine=arguments.engine,
    )
    try:
        tables = run_experiment(
            experiment,
            on=arguments.on,
            workers=arguments.workers,
            progress=True,
            out=None if arguments.out is None else Path(arguments.out),
            force=arguments.force,
        )
    except KeyboardInterrupt:
        if arguments.out is not None:
            print(
                f"stopped: what was finished is kept in {arguments.out}; the same command, without "
                "--force, goes on from there",
                file=sys.stderr,
            )
        raise
    rows = summarise(experiment, tables)
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    print(
        f"{arguments.environment}: {experiment.problems} problem(s) x {experiment.runs} run(s), "
        f"{experiment.rounds} rounds, seed {experiment.seed}"
    )
    print(
        f"{'algorithm':<10} {'regret':>10} {'+-':>8} {'budget':>10} {'smallest':>10} "
        f"{'violated':>9} {'E1':>6} {'E2':>6} {'E3':>6}"
    )
    for row in rows:
        error = "-" if row["regret_se"] is None else f"{row['regret_se']:.3g}"
        print(
            f"{row['algorithm']:<10} {row['regret']:>10.5g} {error:>8} {row['budget']:>10.5g} "
            f"{row['smallest_budget']:>10.4g} {row['violated']:>9.1%} "
            f"{row['e1']:>6.1%} {row['e2']:>6.1%} {row['e3']:>6.1%}"
        )
    print("violated: share of runs with a budget below 0 in any round (at checkpoints where the")
    print("algorithm has them)")
    if arguments.out is not None:
        print(f"tables: {arguments.out}", file=sys.stderr)
    return 0
