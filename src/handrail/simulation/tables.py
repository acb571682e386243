"""Results as Arrow tables: curves over rounds, and one row a run."""

from __future__ import annotations

import importlib.metadata
import io
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from handrail._version import __version__
from handrail.errors import InputError
from handrail.extras import need_extra
from handrail.files import write
from handrail.records import Floats
from handrail.simulation.blocks import blocks, groups_kept
from handrail.simulation.experiment import Contender, Experiment, plain, recorded_rounds
from handrail.simulation.moments import Moments, combine, unpack
from handrail.simulation.store import Store

__all__ = [
    "TABLE_FILES",
    "Tables",
    "collect",
    "read_tables",
    "table_bytes",
    "versions",
    "versions_of",
    "write_tables",
]

_METADATA: Final = b"handrail"


class Tables(NamedTuple):
    """The two tables of some experiments (pyarrow.Table).

    Notes
    -----
    `curves`: problem, algorithm, round; regret and budget, mean and standard error over the
    runs; e1, e2, e3, the shares of events E1, E2, E3 among the rounds so far. `runs`: problem,
    algorithm, run; the final regret, the smallest budget over all rounds, the rounds in
    violation, the smallest budget at checkpoints (null without any), and the shares of the events.
    Labels of experiments and contenders follow as further columns.
    """

    curves: Any
    runs: Any


TABLE_FILES: Final = tuple(f"{name}.parquet" for name in Tables._fields)


def table_bytes(experiments: Sequence[Experiment]) -> int:
    """Return how much disk space blocks and tables of some experiments take at most, about.

    Parameters
    ----------
    experiments : sequence of Experiment
        What is to be done.

    Returns
    -------
    int
        Bytes.
    """
    total = 1 << 20
    for experiment in experiments:
        pairs = len(experiment.contenders) * experiment.problems
        points = len(recorded_rounds(experiment.rounds, experiment.points))
        # Six numbers a point and group of runs, six a run; a table has some ten columns.
        groups = groups_kept(experiment)
        numbers = points * (6 * groups + 10) + 16 * experiment.runs
        # A block is a file within a file: two kilobytes whatever it holds.
        total += pairs * (8 * numbers + 2048 * groups)
    return total


def _pairs(
    experiment: Experiment, store: Store, block: int | None
) -> Iterator[tuple[Contender, int, Moments, Floats]]:
    """Go through contenders and problems with what was measured of all their runs."""
    parts: list[Moments] = []
    measured: list[Floats] = []
    for key, piece in blocks(experiment, block):
        try:
            payload = store.get(key)
        except KeyError:
            raise InputError(
                "environment", "its problems changed while they were simulated", "run it again"
            ) from None
        moments, runs = unpack(payload)
        parts += moments
        measured.append(runs)
        if piece.first + piece.runs == experiment.runs:
            yield piece.contender, piece.problem, combine(parts), np.concatenate(measured)
            parts, measured = [], []


def _labels(experiments: Sequence[Experiment]) -> list[str]:
    names: dict[str, None] = {}
    for experiment in experiments:
        names |= dict.fromkeys(experiment.labels)
        for contender in experiment.contenders:
            names |= dict.fromkeys(contender.labels)
    return list(names)


def collect(experiments: Sequence[Experiment], store: Store, block: int | None = None) -> Tables:
    """Put finished blocks together to tables.

    Parameters
    ----------
    experiments : sequence of Experiment
        All of whose blocks are in the store.
    store : Store
        Where `run` put them.
    block : int, optional
        As given to `tasks`.

    Returns
    -------
    Tables
        Curves and runs.
    """
    pa = need_extra("pyarrow", "simulation")
    labels = _labels(experiments)
    curves, rows = [], []
    for experiment in experiments:
        grid = recorded_rounds(experiment.rounds, experiment.points)
        for contender, problem, moments, runs in _pairs(experiment, store, block):
            common = {"problem": problem, "algorithm": contender.row.name}
            named = {**experiment.labels, **contender.labels}
            more = {name: named.get(name) for name in labels}
            error = moments.error
            rounds = moments.runs * grid
            optimistic, safe = moments.events.T
            curves.append(
                _batch(
                    pa,
                    common,
                    {
                        "round": grid,
                        "regret_mean": moments.mean[:, 0],
                        "regret_se": error[:, 0],
                        "budget_mean": moments.mean[:, 1],
                        "budget_se": error[:, 1],
                        "e1": optimistic / rounds,
                        "e2": safe / rounds,
                        "e3": (rounds - optimistic - safe) / rounds,
                    },
                    more,
                )
            )
            rows.append(_batch(pa, common, _run_columns(pa, runs, experiment.rounds), more))
    return Tables(
        *(pa.concat_tables(each, promote_options="permissive") for each in (curves, rows))
    )


def _run_columns(pa: Any, runs: Floats, rounds: int) -> dict[str, Any]:
    regret, smallest, violations, at_checkpoints, optimistic, safe = runs.T
    return {
        "run": np.arange(len(runs)),
        "regret": regret,
        "smallest_budget": smallest,
        "violations": violations.astype(np.int64),
        "smallest_budget_at_checkpoints": pa.array(at_checkpoints, mask=np.isinf(at_checkpoints)),
        "e1": optimistic / rounds,
        "e2": safe / rounds,
        "e3": (rounds - optimistic - safe) / rounds,
    }


def _batch(pa: Any, common: dict[str, Any], columns: dict[str, Any], more: dict[str, Any]) -> Any:
    size = len(next(iter(columns.values())))
    types = {"problem": pa.int32(), "algorithm": pa.string()}
    leading = {name: pa.array([value] * size, types[name]) for name, value in common.items()}
    trailing = {name: pa.array([value] * size) for name, value in more.items()}
    return pa.table({**leading, **columns, **trailing})


def versions_of(tables: Tables) -> dict[str, str]:
    """Return the versions that computed tables which were read from files.

    Parameters
    ----------
    tables : Tables
        What `read_tables` returned.

    Returns
    -------
    dict
        By name.
    """
    note: dict[str, dict[str, str]] = json.loads(tables.curves.schema.metadata[_METADATA])
    return note["versions"]


def versions() -> dict[str, str]:
    """Return the versions that results may depend on.

    Returns
    -------
    dict
        By name.
    """
    found = {"handrail": __version__, "python": platform.python_version()}
    for package in ("numpy", "numba", "scipy", "pyarrow", "matplotlib"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def write_tables(tables: Tables, folder: Path, settings: Mapping[str, Any]) -> None:
    """Write both tables as Parquet; settings and versions go into the metadata.

    Parameters
    ----------
    tables : Tables
        What `collect` returned.
    folder : pathlib.Path
        Made if it is not there.
    settings : mapping
        What led to them, ready for JSON; the seed included.
    """
    parquet = need_extra("pyarrow.parquet", "simulation")
    folder.mkdir(parents=True, exist_ok=True)
    note = json.dumps({"settings": settings, "versions": versions()}, default=plain)
    for name, table in zip(TABLE_FILES, tables, strict=True):
        buffer = io.BytesIO()
        parquet.write_table(
            table.replace_schema_metadata({_METADATA: note}), buffer, compression="zstd"
        )
        try:
            write(folder / name, buffer.getvalue())
        except OSError as error:
            raise InputError(
                "out",
                f"{folder / name} cannot be written: {error.strerror}",
                "free some space and run the same command again",
            ) from error


def read_tables(folder: Path) -> Tables:
    """Read the tables that `write_tables` wrote.

    Parameters
    ----------
    folder : pathlib.Path
        Where they are.

    Returns
    -------
    Tables
        Curves and runs.
    """
    parquet = need_extra("pyarrow.parquet", "simulation")
    read = []
    for name in TABLE_FILES:
        path = folder / name
        try:
            read.append(parquet.read_table(path))
        except (OSError, ValueError) as error:
            raise InputError(
                "out", f"{path} cannot be read: {error}", "run without --redraw to make it anew"
            ) from error
    return Tables(*read)
