"""All cases at once: judged in several processes, and as JSON, text or Markdown."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, Final

from handrail._version import __version__
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
    """Return a verdict, and the seconds of processor time it took."""
    start = time.process_time()
    return judge(case, seed), time.process_time() - start


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
        f"{row['algorithm']} on {_problems(row)}, {row['schedule']}, baseline {row['baseline']}: "
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
    return "\n\n".join(parts)


def _row(row: Mapping[str, Any]) -> str:
    verdict = row["verdict"] if row["as_expected"] else f"**{row['verdict']}**"
    return _cells(
        [
            row["algorithm"],
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


def _problems(row: Mapping[str, Any]) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in row["parameters"].items())
    return f"{row['environment']} ({chosen})" if chosen else str(row["environment"])


def _interval(row: Mapping[str, Any]) -> str:
    low, high = (f"{100 * row[name]:.2f}".rstrip("0").rstrip(".") for name in ("low", "high"))
    return f"{low} to {high} %"
