"""From names of figures to a folder with tables, pictures, claims and a report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from handrail.environments.jester import load_jester
from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.files import write
from handrail.paper.claims import Evidence, answer
from handrail.paper.figures import FIGURES, chosen
from handrail.paper.plan import FigurePlan
from handrail.paper.report import Entry, Report, render
from handrail.paper.scale import Scale
from handrail.simulation.blocks import fingerprint, tasks
from handrail.simulation.crew import Crew
from handrail.simulation.experiment import Experiment
from handrail.simulation.folder import SETTINGS, open_folder
from handrail.simulation.hire import check_place, hire
from handrail.simulation.progress import Progress
from handrail.simulation.runner import rounds_by_kind, run
from handrail.simulation.store import SqliteStore, store_files
from handrail.simulation.tables import (
    TABLE_FILES,
    collect,
    read_tables,
    table_bytes,
    versions,
    versions_of,
    write_tables,
)

__all__ = ["Outcome", "reproduce"]

_STORE: Final = "blocks.sqlite"
_CLAIMS: Final = "claims.json"
_REPORT: Final = "report.html"
_TIME: Final = "time.json"
_SUMMARY: Final = "summary.json"


@dataclass(frozen=True)
class Outcome:
    """What was made.

    Attributes
    ----------
    report : pathlib.Path
        The report.
    claims : dict
        What claims.json holds.
    missing : mapping
        Why a figure could not be made, by its name.
    """

    report: Path
    claims: dict[str, Any]
    missing: Mapping[str, str]


def reproduce(
    names: Sequence[str],
    *,
    scale: Scale,
    seed: int = 0,
    out: Path,
    on: str = "local",
    workers: int | None = None,
    force: bool = False,
    redraw: bool = False,
    pdf: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Run, draw and judge figures of the paper.

    Parameters
    ----------
    names : sequence of str
        Which figures; none stands for all.
    scale : Scale
        How much is run.
    seed : int, default=0
        Everything random is a function of it.
    out : pathlib.Path
        The folder. Results of the same settings that are there are gone on with, and figures made
        there before stay part of the report.
    on : str, default="local"
        Where it is computed: on this machine, or by the Dask cluster whose scheduler has this
        address, such as ``tcp://host:8786``. The results are the same bits.
    workers : int, optional
        Threads of this machine; by default one for each core. Not for a cluster.
    force : bool, default=False
        Start afresh, whatever results the folder holds.
    redraw : bool, default=False
        Draw and judge from the tables in the folder, and run nothing.
    pdf : bool, default=False
        Write PDFs too.
    tell : callable, optional
        Takes messages for the user, one line each.

    Returns
    -------
    Outcome
        Where the report is, and the claims.

    Raises
    ------
    InputError
        A name or number is wrong, the folder is not for this run, or nothing can be made.
    """
    plans = chosen(names)
    need_extra("matplotlib", "figures")
    need_extra("pyarrow", "simulation")
    check_place(on, workers)
    if redraw:
        _check_drawn_from(out, scale, seed)
        missing = _without_tables(plans, out)
    else:
        missing = _without_data(plans)
    plans = [plan for plan in plans if plan.name not in missing]
    if not plans:
        name, reason = next(iter(missing.items()))
        raise InputError(name, reason)
    lacking = {} if redraw else _without_data(plans, partly=True)
    work = {plan: _experiments(plan, scale, seed, plan.name in lacking) for plan in plans}
    with ExitStack() as held:
        # Before the folder is touched: a cluster may be refused.
        crew = None if redraw else held.enter_context(hire(on, workers))
        if crew is not None:
            open_folder(
                out,
                _settings(scale, seed),
                owned=_owned(),
                needed_bytes=_needed_bytes(work),
                force=force,
            )
        for name, reason in missing.items():
            tell(f"{name}: {reason}; going on without it")
        for name, reason in lacking.items():
            tell(f"{name}: {reason}; going on with the rest of it")
        if crew is not None:
            # Open until the report is written: nobody else may start afresh in this folder.
            store = held.enter_context(SqliteStore(out / _STORE))
            _compute(work, store, out, scale, seed, crew)
        tell(f"drawing {len(plans)} figure{'s' if len(plans) > 1 else ''}")
        try:
            for plan in plans:
                _draw(plan, out, scale, seed, pdf)
            return _write_report(out, scale, seed, missing)
        except OSError as error:
            raise InputError(
                "out",
                f"{out} cannot be written: {error.strerror}",
                "free some space and run the same command again: what was computed is kept",
            ) from error


def _settings(scale: Scale, seed: int) -> dict[str, Any]:
    sizes = {name: value for name, value in scale.settings().items() if name != "name"}
    return {"scale": scale.name, "seed": seed, "sizes": sizes, "code": fingerprint()}


def _owned() -> list[str]:
    """Return all that may be written into the folder, besides its settings."""
    endings = ("png", "svg", "pdf")
    return [_CLAIMS, _REPORT, _TIME, *store_files(_STORE)] + [
        f"{name}/{file}"
        for name in FIGURES
        for file in (*TABLE_FILES, _SUMMARY, *(f"{name}.{ending}" for ending in endings))
    ]


def _needed_bytes(work: Mapping[FigurePlan, Sequence[Experiment]]) -> int:
    """Return about how much disk space blocks, tables and pictures take."""
    pictures = 6_000_000 * len(work)
    return pictures + sum(table_bytes(experiments) for experiments in work.values())


def _experiments(plan: FigurePlan, scale: Scale, seed: int, lacking: bool) -> list[Experiment]:
    """Return what is run for a figure, with or without what needs data that is not there."""
    planned = plan.experiments(scale, seed)
    return [each for each in planned if not (lacking and each.environment == "ratings")]


def _without_data(plans: Sequence[FigurePlan], *, partly: bool = False) -> dict[str, str]:
    """Return which figures lack data that handrail cannot ship, and what to do about it.

    Either those that cannot be made at all without it, or those that can in part.
    """
    needing = [plan.name for plan in plans if plan.data == "jester" and plan.partly == partly]
    if needing:
        try:
            load_jester()
        except InputError as error:
            return dict.fromkeys(needing, f"the data is missing ({error})")
    return {}


def _has_tables(out: Path, name: str) -> bool:
    return all((out / name / file).is_file() for file in TABLE_FILES)


def _without_tables(plans: Sequence[FigurePlan], out: Path) -> dict[str, str]:
    absent = [plan for plan in plans if not _has_tables(out, plan.name)]
    reason = "the folder holds no tables of it; run it without --redraw"
    return {**dict.fromkeys((plan.name for plan in absent), reason), **_without_data(absent)}


def _check_drawn_from(out: Path, scale: Scale, seed: int) -> None:
    """Refuse to draw another run's tables under this run's name; the code may have changed."""
    try:
        held = json.loads((out / SETTINGS).read_bytes())
    except (OSError, ValueError):
        held = None
    if not isinstance(held, dict):
        raise InputError("out", f"{out} holds no results to draw", "run without --redraw")
    wanted = json.loads(json.dumps(_settings(scale, seed)))
    for field in ("scale", "seed", "sizes"):
        if held.get(field) != wanted[field]:
            raise InputError(
                "out",
                f"{out} holds results of scale {held.get('scale')}, seed {held.get('seed')}",
                f"pass its --scale and --seed with --redraw, or another folder ({field} differs)",
            )


def _compute(
    work: Mapping[FigurePlan, Sequence[Experiment]],
    store: SqliteStore,
    out: Path,
    scale: Scale,
    seed: int,
    crew: Crew,
) -> None:
    """Compute what is missing, then write every figure's tables."""
    blocks = tasks([experiment for experiments in work.values() for experiment in experiments])
    stored = store.keys()
    if any(block.key not in stored for block in blocks):
        with _timed(out, crew), Progress(rounds_by_kind(blocks)) as progress:
            run(blocks, store, crew, progress=progress)
    for plan, experiments in work.items():
        settings = {
            "figure": plan.name,
            **_settings(scale, seed),
            "experiments": [experiment.settings() for experiment in experiments],
        }
        write_tables(collect(experiments, store), out / plan.name, settings)


@contextmanager
def _timed(out: Path, crew: Crew) -> Iterator[None]:
    """Add the time that passes, also until an interruption, to the folder's account."""
    before, start = _time(out)["seconds"], time.monotonic()
    try:
        yield
    finally:
        spent = before + time.monotonic() - start
        account = {"seconds": round(spent, 3), "workers": crew.workers}
        # On a full disk the account is lost; what went wrong before must not be hidden by it.
        with suppress(OSError):
            write(out / _TIME, (json.dumps(account) + "\n").encode())


def _time(out: Path) -> dict[str, Any]:
    try:
        account = json.loads((out / _TIME).read_bytes())
        return {"seconds": float(account["seconds"]), "workers": int(account["workers"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"seconds": 0.0, "workers": 0}


def _draw(plan: FigurePlan, out: Path, scale: Scale, seed: int, pdf: bool) -> None:
    """Write a figure's pictures and the numbers behind them, from its tables."""
    from handrail.paper.drawing.sheet import save, style

    folder = out / plan.name
    tables = read_tables(folder)
    summary = {
        "figure": plan.name,
        "title": plan.title,
        "scale": scale.name,
        "seed": seed,
        "settings": plan.settings,
        **plan.summary(tables, scale),
    }
    _write_json(folder / _SUMMARY, summary)
    with style():
        save(plan.picture(tables, scale), folder, plan.name, pdf=pdf)


def _write_report(out: Path, scale: Scale, seed: int, missing: Mapping[str, str]) -> Outcome:
    """Judge the claims and write the report from all figures in the folder."""
    evidence: list[Evidence] = []
    entries = []
    computed_with = versions()
    for name, plan in FIGURES.items():
        picture = out / name / f"{name}.png"
        made = _has_tables(out, name) and picture.is_file()
        if made:
            tables = read_tables(out / name)
            evidence += plan.evidence(tables, scale)
            computed_with = versions_of(tables)
        reason = "" if made else missing.get(name, "was not run")
        shown = picture.read_bytes() if made else None
        summary = _summary_of(out / name) if made else {}
        entries.append(Entry(plan, shown, reason, _regrets(summary), plan.tables(summary)))
    account = _time(out)
    claims: dict[str, Any] = {
        "version": computed_with["handrail"],
        "scale": scale.name,
        "seed": seed,
        "seconds": account["seconds"],
        "claims": [claim.json() for claim in answer(evidence, missing)],
    }
    _write_json(out / _CLAIMS, claims)
    page = render(Report(scale, claims, entries, computed_with, account["workers"]))
    write(out / _REPORT, page.encode())
    return Outcome(out / _REPORT, claims, missing)


def _summary_of(folder: Path) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = json.loads((folder / _SUMMARY).read_bytes())
    except (OSError, ValueError):
        return {}
    return summary


def _regrets(summary: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the average final regrets in a figure's summary; not all figures have them."""
    found = {}
    for name, values in summary.get("regret", {}).items():
        average = values.get("regret", values.get("average"))
        if average is not None:
            found[name] = (average["mean"], average["se"])
    return found


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write(path, (text + "\n").encode())
