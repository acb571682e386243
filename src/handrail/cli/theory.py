"""`handrail theory`: what the theorems promise for a setting, in numbers."""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

__all__ = ["register", "run"]

_FLAGS: Final[tuple[tuple[str, type, float, str], ...]] = (
    ("alpha", float, 0.05, "share of the baseline's reward that may be lost"),
    ("delta", float, 0.01, "probability each confidence event may fail with"),
    ("dim", int, 100, "d, the length of the features"),
    ("noise", float, 0.1, "sigma, the rewards' sub-Gaussian constant"),
    ("ridge", float, 0.5, "lambda of the ridge regression"),
    ("theta-bound", float, 0.8, "B, at least the length of theta"),
    ("feature-bound", float, 9.0, "D, at least the length of every feature vector"),
    ("baseline-low", float, 0.55, "mu_l, the baseline's smallest mean"),
    ("baseline-high", float, 0.55, "mu_h, the baseline's largest mean"),
    ("gap", float, 0.45, "Delta_h, how far the best action is above the baseline at most"),
    ("checkpoint-every", int, 1, "T, rounds between checkpoints; 1: a promise at every round"),
    ("rounds", int, 20_000, "n, the horizon"),
)


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "theory",
        help="print the regret bounds of CLUCB2 and CLUCB2T for a setting",
        description=(
            "Print the regret bounds of CLUCB2 and CLUCB2T for a setting, corrected and as the "
            "paper prints them, and say which of them are vacuous. The defaults are those of the "
            "figure `linear`; B, D, the baseline's mean and its gap are about the medians of its "
            "models."
        ),
    )
    for name, kind, default, text in _FLAGS:
        metavar = "N" if kind is int else "X"
        parser.add_argument(
            f"--{name}", type=kind, default=default, metavar=metavar,
            help=f"{text}; default: {default:g}",
        )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the bounds and print them."""
    from handrail.theory import Setting, evaluate

    names = [name.replace("-", "_") for name, *_ in _FLAGS]
    bounds = evaluate(Setting(**{name: getattr(arguments, name) for name in names}))
    if arguments.json:
        print(json.dumps(bounds.json(), indent=2, allow_nan=False))
        return 0
    setting = bounds.setting
    print(", ".join(f"{name} {getattr(setting, name)}" for name in names))
    most = setting.gap * setting.rounds
    rows: list[tuple[str, str, str, str]] = [
        ("symbol", "value", "", "meaning"),
        ("T~", f"{bounds.free_stretch:.4g}", "", "length of the free stretch of the first phase"),
        ("free", f"{bounds.free_rounds}", "", "rounds of it: every action is safe in them"),
        ("C_b", f"{bounds.rounds_threshold:.4g}", "", "T~ from which the closed form falls with T"),
        ("Lin(n)", *_judged(bounds.linear_regret, most), "regret of exploring"),
    ]
    printed = bounds.as_printed
    for name, found in (
        ("corrected, as a maximum", bounds.numeric),
        ("corrected, closed form", bounds.closed),
        ("as printed, Theorem 1", bounds.printed_every_round),
        ("as printed, Theorem 2", bounds.printed_checkpoints),
    ):
        if name.startswith("as printed") and name.endswith("2"):
            rows.append(("C_b", f"{printed.rounds_threshold:.4g}", "", "the same, as printed"))
        unsafe = f"rounds with the most optimistic action unsafe ({name})"
        rows.append(("N", *_judged(found.rounds, float(setting.rounds)), unsafe))
        rows.append(("R(n)", *_judged(found.regret, most), f"regret ({name})"))
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    for symbol, value, verdict, meaning in rows:
        line = f"{symbol:<{widths[0]}}  {value:>{widths[1]}}  {verdict:<{widths[2]}}  {meaning}"
        print(line.rstrip())
    print(f"vacuous: N >= n = {setting.rounds:,}, or R(n) >= Delta_h n = {most:,.6g}, which always")
    print("playing the baseline promises too")
    return 0


def _judged(value: float, most: float) -> tuple[str, str]:
    return f"{value:.4g}", "vacuous" if value >= most else "informative"
