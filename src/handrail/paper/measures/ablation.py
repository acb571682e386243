"""What each part saves, and whether the recommended algorithms are as good as they should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from handrail.paper.bootstrap import Interval, Statistic, bootstrap_many
from handrail.paper.judge import at_least, at_most, same_size
from handrail.paper.measures.safety import exact_share
from handrail.paper.measures.summary import spread
from handrail.paper.models import reduction
from handrail.paper.numbers import per_run, pick
from handrail.paper.scale import Scale
from handrail.paper.steps import LADDERS, Ladder, Step
from handrail.paper.tabular import Table
from handrail.paper.words import listed, number, percent, with_interval

__all__ = ["Goal", "ablation_summary", "ablation_tables"]


class Goal(NamedTuple):
    """What is asked of the recommended algorithm in one environment."""

    saved: float
    """At least this share of the old algorithm's regret."""
    ratio: float | None = None
    """At most this many times its own oracle's regret."""


_GOALS: Final[Mapping[str, Goal]] = {
    "mab": Goal(0.55),
    "linear": Goal(0.88),
    "jester": Goal(0.70, 1.6),
}


def ablation_summary(runs: Any, scale: Scale) -> dict[str, Any]:
    """Return what every step reached, and the verdicts.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run, labelled ``environment`` and ``step``.
    scale : Scale
        What was run.

    Returns
    -------
    dict
        ``environments``: by name, the steps and the oracles in order, each with its regret (mean
        and spread over models), the share saved of the old algorithm's, the share of baseline
        rounds, the runs in violation, and for steps the distance to their own oracle.
        ``verdicts``: what is asked for, what was measured with a 95 % interval, and whether it
        holds; None where ``verdict`` says why not. ``missing``: environments that were not run.
    """
    seen = set(runs.column("environment").to_pylist())
    found = {each.name: _environment(runs, each, scale) for each in LADDERS if each.name in seen}
    return {
        "environments": found,
        "verdicts": [
            verdict
            for ladder in LADDERS
            if ladder.name in found
            for verdict in _verdicts(runs, ladder, found[ladder.name], scale)
        ],
        "missing": [each.name for each in LADDERS if each.name not in seen],
    }


def _plain(found: Interval) -> dict[str, float]:
    return dict(found._asdict())


def _share_below(index: int) -> Statistic:
    """Return the statistic "by which share contender `index` is below the first"."""
    return lambda drawn: reduction(drawn[index].mean(axis=1), drawn[0].mean(axis=1))


def _times(index: int, oracle: int) -> Statistic:
    return lambda drawn: drawn[index].mean(axis=1) / drawn[oracle].mean(axis=1)


def _environment(runs: Any, ladder: Ladder, scale: Scale) -> dict[str, Any]:
    own = pick(runs, environment=ladder.name)
    contenders = [*ladder.steps, *ladder.oracles]
    names = [each.name for each in contenders]
    regrets = [per_run(own, "regret", step=name) for name in names]
    saved = bootstrap_many(regrets, [_share_below(place) for place in range(len(names))])
    judged = [step for step in ladder.steps if step.oracle]
    ratios = bootstrap_many(
        regrets, [_times(names.index(step.name), names.index(step.oracle)) for step in judged]
    )
    rows = {
        each.name: _row(own, each, regret, below)
        for each, regret, below in zip(contenders, regrets, saved, strict=True)
    }
    for step, ratio in zip(judged, ratios, strict=True):
        oracle = rows[step.oracle]["regret"]["mean"]
        rows[step.name] |= {
            "oracle": step.oracle,
            "above_oracle": rows[step.name]["regret"]["mean"] - oracle,
            "ratio": _plain(ratio),
        }
    size = scale.size(ladder.size)
    return {
        "of": ladder.of,
        "problems": size.problems,
        "runs": size.runs,
        "rounds": size.rounds,
        "old": ladder.steps[0].name,
        "default": ladder.default,
        "steps": [rows[step.name] for step in ladder.steps],
        "oracles": [rows[step.name] for step in ladder.oracles],
    }


def _row(runs: Any, step: Step, regret: Any, saved: Interval) -> dict[str, Any]:
    violations = per_run(runs, "violations", step=step.name)
    return {
        "step": step.name,
        "algorithm": step.row.name,
        "regret": spread(regret.mean(axis=1)),
        "saved": _plain(saved),
        "baseline_share": float(per_run(runs, "e3", step=step.name).mean()),
        "violations": int((violations > 0).sum()),
        "runs": int(violations.size),
    }


def _verdict(
    ladder: Ladder, id_: str, what: str, target: str, found: Interval, holds: bool | None
) -> dict[str, Any]:
    """Return one verdict; without a target it is a number for comparison."""
    answer = {True: "holds", False: "does not hold", None: "not decided"}[holds]
    return {
        "id": f"{ladder.name}-{id_}",
        "environment": ladder.name,
        "what": what,
        "target": target,
        **_plain(found),
        "holds": holds,
        "verdict": answer if target else "for comparison",
    }


def _verdicts(
    runs: Any, ladder: Ladder, found: Mapping[str, Any], scale: Scale
) -> list[dict[str, Any]]:
    """Return the verdicts on one environment."""
    goal = _GOALS[ladder.name]
    rows = {row["step"]: row for row in found["steps"]}
    best, new = rows[ladder.default], rows[ladder.new]
    full = same_size(scale, ladder.size, models=False)
    name, old = best["algorithm"], found["old"]
    saved, ratio = Interval(**best["saved"]), Interval(**best["ratio"])
    judged = [
        _verdict(
            *(ladder, "saved", f"{name}: saved of {old}'s regret"),
            *(f"at least {100 * goal.saved:g} %", saved, at_least(saved, goal.saved)),
        )
    ]
    if goal.ratio is not None:
        judged.append(
            _verdict(
                *(ladder, "ratio", f"{name}: regret, times {best['oracle']}'s"),
                *(f"at most {goal.ratio:g}", ratio, at_most(ratio, goal.ratio)),
            )
        )
    if not full:
        for each in judged:
            each |= {"holds": None, "verdict": "not measured at this scale"}
    compared = [("new-saved", f"{ladder.new}: saved of {old}'s regret", new["saved"])]
    for id_, step in ladder.bare.items():
        alone = f"ellipsoid alone, up to “{step}”: "
        compared += [
            (f"{id_}-saved", f"{alone}saved of {old}'s regret", rows[step]["saved"]),
            (f"{id_}-ratio", f"{alone}regret, times its own oracle's", rows[step]["ratio"]),
        ]
    if goal.ratio is None:
        compared.append(("ratio", f"{name}: regret, times {best['oracle']}'s", best["ratio"]))
    return [
        *judged,
        _safety(runs, ladder),
        _promise(best, ladder),
        *(_verdict(ladder, id_, what, "", Interval(**own), None) for id_, what, own in compared),
    ]


def _safety(runs: Any, ladder: Ladder) -> dict[str, Any]:
    """Return the verdict on the promise, which steps and oracles all make."""
    own = pick(runs, environment=ladder.name)
    names = [step.name for step in (*ladder.steps, *ladder.oracles)]
    counts = np.array([per_run(own, "violations", step=name) for name in names])
    # All see the same rewards: a run counts once, whoever went below 0 in it.
    broken = np.any(counts > 0, axis=0)
    share = exact_share(int(broken.sum()), broken.size)
    what = "runs in which any step or oracle goes below 0"
    return _verdict(ladder, "safe", what, "none", share, not broken.any())


def _promise(best: Mapping[str, Any], ladder: Ladder) -> dict[str, Any]:
    """Return the verdict on what the recommended one does promise: delta, not never."""
    share, delta = exact_share(best["violations"], best["runs"]), ladder.policy["delta"]
    what = f"{best['algorithm']}: runs below 0"
    target = f"at most δ = {100 * delta:g} %"
    return _verdict(ladder, "promise", what, target, share, at_most(share, delta))


_HEAD: Final = (
    "step",
    "regret",
    "saved",
    "baseline rounds",
    "runs below 0",
    "own oracle",
    "above it",
    "ratio",
)


def ablation_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Return the steps of every environment, and the verdicts, as tables.

    Parameters
    ----------
    summary : mapping
        What `ablation_summary` returned, or nothing.

    Returns
    -------
    list of Table
        Regrets are averages over models with their standard errors; intervals hold 95 %.
    """
    found: Mapping[str, Any] = summary.get("environments", {})
    tables = [_steps_table(name, each) for name, each in found.items()]
    if summary.get("verdicts"):
        tables.append(_verdict_table(summary["verdicts"], summary["missing"]))
    return tables


def _steps_table(name: str, found: Mapping[str, Any]) -> Table:
    oracles = {row["step"]: row for row in found["oracles"]}
    rows = [_step_cells(row, oracles) for row in found["steps"]]
    caption = (
        f"{name}: {found['problems']} {found['of']} × {found['runs']} runs, "
        f"n = {found['rounds']:,}. From the third row on each adds one part to the row above, "
        "up to the recommended one"
    )
    steps = [row["step"] for row in found["steps"]]
    default = steps.index(found["default"])
    caption += "." if default == len(steps) - 1 else "; what is below it is another choice."
    return Table(caption, _HEAD, rows, frozenset({default}))


def _step_cells(row: Mapping[str, Any], oracles: Mapping[str, Any]) -> Sequence[str]:
    regret = row["regret"]
    first = row["saved"]["measured"] == 0.0
    cells = [
        row["step"],
        f"{number(regret['mean'])} ± {number(regret['se'])}",
        "–" if first else with_interval(Interval(**row["saved"])),
        percent(row["baseline_share"]),
        f"{row['violations']} of {row['runs']:,}",
    ]
    if "oracle" not in row:
        return [*cells, "–", "–", "–"]
    return [
        *cells,
        number(oracles[row["oracle"]]["regret"]["mean"]),
        number(row["above_oracle"]),
        with_interval(Interval(**row["ratio"]), share=False),
    ]


def _verdict_table(verdicts: Sequence[Mapping[str, Any]], missing: Sequence[str]) -> Table:
    rows = [
        (
            each["environment"],
            each["what"],
            each["target"] or "–",
            with_interval(
                Interval(each["measured"], each["low"], each["high"]),
                share=not each["id"].endswith("ratio"),
            ),
            each["verdict"],
        )
        for each in verdicts
    ]
    head = ("environment", "what", "asked for", "measured [95 % interval]", "verdict")
    caption = "What was asked of the recommended algorithms."
    if missing:
        caption += f" Not run, for want of data: {listed(missing)}."
    return Table(caption, head, rows)
