"""All cases at once: judged in several processes, and as JSON, text or Markdown."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from typing import Any, Final

from handrail._version import __version__
from handrail.certificate.broken import VARIANTS, judge_broken
from handrail.certificate.cases import GROUPS, Case
from handrail.certificate.certify import certify
from handrail.certificate.interval import CONFIDENCE, FALSE_ALARM

__all__ = ["judge", "judge_all", "line", "markdown", "summary"]

_COLUMNS: Final = (
    "algorithm", "problems", "checked", "baseline", "alpha", "delta", "runs", "violated", "share",
    "verdict",
)  # fmt: skip


def judge(case: Case, seed: int = 0) -> dict[str, Any]:
    """Certify one case.

    Parameters
    ----------
    case : Case
        What is certified, and what has to come out.
    seed : int, default=0
        Everything is a function of it.

    Returns
    -------
    dict
        The certificate's fields, with `group`, `expected` and `as_expected`.
    """
    if case.broken:
        sound = {**asdict(case), "broken": "", "cut": 0.0}
        found = judge_broken(sound, case.broken, case.cut, seed)
        return found | {"broken": case.broken, "cut": case.cut}
    certificate = certify(
        case.algorithm,
        case.environment,
        case.alpha,
        case.delta,
        case.runs,
        seed,
        case.schedule,
        baseline=case.baseline,
        rounds=case.rounds,
        parameters=case.parameters,
        workers=1,
    )
    more = {
        "group": case.group,
        "expected": case.expected,
        "as_expected": certificate.holds is case.expected,
        "broken": "",
        "cut": 0.0,
    }
    return certificate.as_dict() | more


def judge_all(
    cases: Sequence[Case],
    *,
    seed: int = 0,
    workers: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Certify many cases, in several processes.

    Parameters
    ----------
    cases : sequence of Case
        Each is one verdict.
    seed : int, default=0
        Everything is a function of it.
    workers : int, optional
        Processes; by default one for each core. With one, this process does it all.
    say : callable, optional
        Is given a line for each verdict, as they come.

    Returns
    -------
    dict
        version, seed, seconds (of all processors together), verdicts (how many), false_alarm (the
        chance of any among the promises, at most), confidence, as_expected (whether all are) and
        certificates, ready for JSON.
    """
    found: dict[int, dict[str, Any]] = {}
    spent: list[float] = []

    def take(place: int, answer: tuple[dict[str, Any], float]) -> None:
        row, seconds = answer
        found[place] = row
        spent.append(seconds)
        say(f"[{len(found)}/{len(cases)}] {line(row)}")

    count = min(workers or os.cpu_count() or 1, len(cases))
    if count <= 1:
        for place, case in enumerate(cases):
            take(place, _timed(case, seed))
    else:
        # Fresh processes: forking one that has run compiled code in threads is asking for trouble.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(count, context, _deaf) as pool:
            waiting = {pool.submit(_timed, case, seed): place for place, case in enumerate(cases)}
            try:
                for done in as_completed(waiting):
                    take(waiting[done], done.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    rows = [found[place] for place in range(len(cases))]
    return {
        "version": __version__,
        "seed": seed,
        "seconds": round(sum(spent), 1),
        "verdicts": len(rows),
        "confidence": CONFIDENCE,
        "false_alarm": round(sum(row["expected"] for row in rows) * FALSE_ALARM, 6),
        "as_expected": all(row["as_expected"] for row in rows),
        "certificates": rows,
    }


def _timed(case: Case, seed: int) -> tuple[dict[str, Any], float]:
    """Return a verdict, and the seconds of processor time it took, broken copies included."""
    start = sum(os.times()[:4])
    return judge(case, seed), sum(os.times()[:4]) - start


def _deaf() -> None:
    """Leave Ctrl-C to the process that is in charge."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def line(row: Mapping[str, Any]) -> str:
    """Return one verdict on a line.

    Parameters
    ----------
    row : mapping
        What `judge` returned.

    Returns
    -------
    str
        The line.
    """
    words = "" if row["as_expected"] else " (NOT AS EXPECTED)"
    if row["as_expected"] and not row["expected"]:
        words = " (as it has to)"
    return (
        f"{_who(row)} on {_problems(row)}, {row['schedule']}, baseline {row['baseline']}: "
        f"{row['violations']} of {row['runs']} violated, {_interval(row)}: {row['verdict']}{words}"
    )


def summary(report: Mapping[str, Any]) -> str:
    """Return how many verdicts there are and how far they can be trusted, in a sentence or two.

    Parameters
    ----------
    report : mapping
        What `judge_all` returned.

    Returns
    -------
    str
        The sentences.
    """
    rows = report["certificates"]
    wrong = [row for row in rows if not row["as_expected"]]
    kept = sum(row["expected"] for row in rows)
    text = (
        f"{report['verdicts']} verdicts: {kept} promises and {len(rows) - kept} controls that have "
        f"to fail. If every promise is kept, the chance of any false alarm among them is at most "
        f"{kept} x {FALSE_ALARM:.0e} = {kept * FALSE_ALARM:.2g}."
    )
    said = f"{len(wrong)} verdict(s) are not as expected" if wrong else "All are as expected"
    return f"{text} {said}. It took {report['seconds'] / 60:.0f} minutes of processor time."


def markdown(report: Mapping[str, Any]) -> str:
    """Return the report as Markdown: a table for each group of cases.

    Parameters
    ----------
    report : mapping
        What `judge_all` returned.

    Returns
    -------
    str
        The tables, with headings.
    """
    parts = []
    for group, heading in GROUPS.items():
        rows = [row for row in report["certificates"] if row["group"] == group]
        if rows:
            table = [f"### {heading}", "", _cells(_COLUMNS), _cells("---" for _ in _COLUMNS)]
            parts.append("\n".join([*table, *map(_row, rows)]))
    noticed = _noticed(report["certificates"])
    if noticed:
        parts.append("\n".join(["### The smallest cut that is noticed", "", *noticed]))
    return "\n\n".join(parts)


def _noticed(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of the bounds: the smallest cut of each that fails, and the shares there."""
    table = [_cells(("bound", "smallest cut noticed", "violated", "without the cut", "delta"))]
    table.append(_cells("---" for _ in range(5)))
    for name, variant in VARIANTS.items():
        cuts = [row for row in rows if row["broken"] == name and row["verdict"] == "fails"]
        if not variant.bound or not cuts:
            continue
        least = min(cuts, key=lambda row: row["cut"])
        (whole,) = (row for row in rows if row["group"] == "edges" and _same(row, least))
        shares = (f"{100 * row['share']:.3g} %" for row in (least, whole))
        cut = f"{100 * least['cut']:.0f} %"
        table.append(_cells([variant.description, cut, *shares, f"{100 * least['delta']:g} %"]))
    return table if len(table) > 2 else []


def _same(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two rows are of the same runs, but for what is broken."""
    fields = ("algorithm", "environment", "alpha", "delta", "schedule", "rounds", "parameters")
    return all(row[field] == other[field] for field in fields)


def _row(row: Mapping[str, Any]) -> str:
    verdict = row["verdict"] if row["as_expected"] else f"**{row['verdict']}**"
    return _cells(
        [
            _who(row),
            _problems(row),
            row["schedule"].replace("every-round", "every round"),
            row["baseline"],
            f"{row['alpha']:g}",
            f"{row['delta']:g}",
            f"{row['runs']} x {row['rounds']}",
            str(row["violations"]),
            _interval(row),
            verdict,
        ]
    )


def _cells(texts: Any) -> str:
    return f"| {' | '.join(texts)} |"


def _who(row: Mapping[str, Any]) -> str:
    """Return who plays, and what is broken."""
    if not row["broken"]:
        return str(row["algorithm"])
    wrong = VARIANTS[row["broken"]].description
    return f"{row['algorithm']}, {wrong}" + (
        f" cut by {100 * row['cut']:.0f} %" if row["cut"] else ""
    )


def _problems(row: Mapping[str, Any]) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in row["parameters"].items())
    return f"{row['environment']} ({chosen})" if chosen else str(row["environment"])


def _interval(row: Mapping[str, Any]) -> str:
    low, high = (f"{100 * row[name]:.2f}".rstrip("0").rstrip(".") for name in ("low", "high"))
    return f"{low} to {high} %"
