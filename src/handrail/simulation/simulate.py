"""One's own question: algorithms on an environment, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, Final

from handrail.environments.registry import parameter_names
from handrail.errors import InputError, nearest
from handrail.extras import need_extra
from handrail.policies.algorithm import Algorithm
from handrail.policies.defaults import DEFAULTS
from handrail.simulation.blocks import fingerprint, tasks
from handrail.simulation.experiment import Contender, Experiment
from handrail.simulation.folder import open_folder
from handrail.simulation.hire import check_place, hire
from handrail.simulation.prepare import SIMULATED, policy_parameters
from handrail.simulation.progress import Progress
from handrail.simulation.runner import rounds_by_kind, run
from handrail.simulation.store import MemoryStore, SqliteStore, Store, store_files
from handrail.simulation.tables import TABLE_FILES, Tables, collect, table_bytes, write_tables

__all__ = ["make_experiment", "run_experiment", "simulate"]

_STORE: Final = "blocks.sqlite"


def make_experiment(
    environment: str,
    algorithms: Iterable[str | Algorithm | Contender],
    parameters: Mapping[str, Any],
    **size: Any,
) -> Experiment:
    """Put an experiment together, each parameter in its place.

    Parameters
    ----------
    environment : str
        The name of an environment.
    algorithms : iterable of str, Algorithm or Contender
        Who is compared.
    parameters : mapping
        Of the environment, of policies, or of one: see `simulate`.
    **size
        rounds, runs, problems, seed and what else an `Experiment` has.

    Returns
    -------
    Experiment
        Ready for `tasks`.
    """
    own = parameter_names(environment)
    if isinstance(algorithms, str):
        raise InputError("algorithms", f"{algorithms!r} is one name", "pass a list of names")
    given = [each if isinstance(each, Contender) else Contender(each) for each in algorithms]
    drawn: dict[str, Any] = {}
    common: dict[str, Any] = {}
    single: dict[str, dict[str, Any]] = {each.row.name: {} for each in given}
    places = {"environment": drawn, "policy": common, **single}
    for name, value in parameters.items():
        place, dot, field = name.rpartition(".")
        if dot and place not in places:
            raise InputError(name, f"{place!r} is not part of this run", nearest(place, places))
        if not dot:
            if field not in (*own, *DEFAULTS, *SIMULATED):
                raise InputError(
                    field,
                    f"is a parameter neither of {environment!r} nor of a policy",
                    nearest(field, [*own, *DEFAULTS, *SIMULATED]),
                )
            place = "environment" if field in own else "policy"
        if field in places[place]:
            raise InputError(field, "is given twice", "give it once")
        places[place][field] = value
    contenders = tuple(
        Contender(each.row, {**single[each.row.name], **each.parameters}, each.labels)
        for each in given
    )
    experiment = Experiment(environment, drawn, contenders, policy=common, **size)
    used = {"alpha"}.union(*(policy_parameters(experiment, each) for each in contenders))
    for field in common:
        if field not in used:
            raise InputError(field, "none of these algorithms uses it", "leave it out")
    return experiment


def _joined(one: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, Any]:
    for name in one:
        if name in two:
            raise InputError(name, "is given twice", "give it once")
    return {**one, **two}


def simulate(
    environment: str,
    *,
    algorithms: Sequence[str | Algorithm | Contender],
    rounds: int,
    runs: int = 10,
    problems: int = 1,
    seed: int = 0,
    points: int = 500,
    per: str = "round",
    on: str = "local",
    workers: int | None = None,
    block: int | None = None,
    engine: str = "fast",
    progress: bool = False,
    parameters: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Run algorithms on problems of an environment; return what was measured as an Arrow table.

    Parameters
    ----------
    environment : str
        One of `handrail.environment_names()`.
    algorithms : sequence of str, Algorithm or Contender
        Names from the catalogue, or parts put together by hand. A `handrail.Contender` is an
        algorithm with parameters of its own and labels, which become columns of the table.
    rounds, runs, problems : int
        The horizon, the runs of each problem, and how many problems are drawn.
    seed : int, default=0
        Everything is a function of it: the same seed gives the same bits, whatever the number of
        workers and the size of blocks.
    points : int, default=500
        How many rounds are recorded at most, log- and linearly spaced.
    per : {"round", "run"}, default="round"
        Which table: one row a recorded round (means and standard errors over the runs), or one
        row a run.
    on : str, default="local"
        Where it is computed: on this machine, or by the Dask cluster whose scheduler has this
        address, such as ``tcp://host:8786``. The results are the same bits.
    workers : int, optional
        Threads of this machine; by default one for each core. Not for a cluster.
    block : int, optional
        Runs that are computed in one piece; no result depends on it.
    engine : {"fast", "plain"}, default="fast"
        "plain" takes no shortcuts: for comparison.
    progress : bool, default=False
        Whether to show progress on standard error.
    parameters : mapping, optional
        Parameters of the environment and of policies by name. A name that both have is the
        environment's; ``"policy.noise"`` is the policies', ``"CUCB2.width"`` that of one algorithm.
        Each algorithm takes the common ones that it uses; alpha is 0.05 and delta 0.01 unless
        given.
    **more
        More of the same.

    Returns
    -------
    pyarrow.Table
        With problem, algorithm, round, regret_mean, regret_se, budget_mean, budget_se, e1, e2, e3;
        or problem, algorithm, run, regret, smallest_budget, violations,
        smallest_budget_at_checkpoints, e1, e2, e3.

    Notes
    -----
    Regret and budget are measured on the true means. e1, e2 and e3 are the shares of the events:
    the most optimistic action was played, another safe one, the baseline.

    Examples
    --------
    >>> table = simulate("bernoulli", algorithms=["UCB", "CUCB2"], rounds=1000, runs=20, arms=5)
    >>> table.column_names[:4]
    ['problem', 'algorithm', 'round', 'regret_mean']
    """
    if per not in ("round", "run"):
        raise InputError("per", f"{per!r} is not known", "pass 'round' or 'run'")
    experiment = make_experiment(
        environment,
        algorithms,
        _joined(parameters or {}, more),
        rounds=rounds,
        runs=runs,
        problems=problems,
        seed=seed,
        points=points,
        engine=engine,
    )
    tables = run_experiment(experiment, on=on, workers=workers, block=block, progress=progress)
    return tables.curves if per == "round" else tables.runs


def run_experiment(
    experiment: Experiment,
    *,
    on: str = "local",
    workers: int | None = None,
    block: int | None = None,
    progress: bool = False,
    out: Path | None = None,
    force: bool = False,
) -> Tables:
    """Run one experiment, in memory or with its results in a folder.

    Parameters
    ----------
    experiment : Experiment
        What is to be done.
    on, workers, block, progress
        As for `simulate`.
    out : pathlib.Path, optional
        Where the tables are written. Finished blocks are kept there until then, so that a run
        that was interrupted goes on.
    force : bool, default=False
        Whether another run's results in that folder are replaced.

    Returns
    -------
    Tables
        Curves and runs.
    """
    need_extra("pyarrow", "simulation")  # said before anything is computed
    check_place(on, workers)
    work = tasks([experiment], block)
    shown = Progress(rounds_by_kind(work)) if progress else None
    settings = {**experiment.settings(), "code": fingerprint()}
    with ExitStack() as held:
        crew = held.enter_context(hire(on, workers))  # refused before the folder is touched
        store: Store = MemoryStore()
        if out is not None:
            owned = (*TABLE_FILES, *store_files(_STORE))
            needed = table_bytes([experiment])
            open_folder(out, settings, owned=owned, needed_bytes=needed, force=force)
            store = SqliteStore(out / _STORE)
        held.enter_context(store)
        with shown or nullcontext():
            run(work, store, crew, progress=shown)
        tables = collect([experiment], store, block)
    if out is not None:
        write_tables(tables, out, settings)
    return tables
