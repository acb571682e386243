"""Evidence on regret: by how much the parts of the new algorithm lower that of the old one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from handrail.paper.bootstrap import Interval, Statistic, bootstrap, bootstrap_many
from handrail.paper.claims import Evidence, Part
from handrail.paper.judge import TOLERANCE, above, at_least, at_most, matches, same_size
from handrail.paper.models import choose, reduction
from handrail.paper.numbers import per_run
from handrail.paper.scale import Scale
from handrail.paper.settings import LINEAR_FAMILY, MEANS_FAMILY, Family
from handrail.paper.words import listed, percent
from handrail.records import Floats

__all__ = [
    "always_better",
    "average_reductions",
    "linear_martingale",
    "linear_reduction",
    "mab_order",
    "mab_reduction",
    "width_reductions",
    "worst_reductions",
]


def _regrets(runs: Any, names: Sequence[str], **wanted: object) -> list[Floats]:
    return [per_run(runs, "regret", algorithm=name, **wanted) for name in names]


def _below_last(index: int) -> Statistic:
    """Return the statistic "by which share contender `index` is below the last one"."""
    return lambda drawn: reduction(drawn[index].mean(axis=1), drawn[-1].mean(axis=1))


def _distance(first: int, second: int) -> Statistic:
    """Return the statistic "first minus second, as a share of the last one"."""
    return lambda drawn: (drawn[first] - drawn[second]).mean(axis=1) / drawn[-1].mean(axis=1)


def _in_worst(statistic: Statistic, new: int) -> Statistic:
    """Return a statistic of the worst model alone, chosen anew in each resample."""

    def of_worst(drawn: list[Floats]) -> Floats:
        rows = reduction(drawn[new], drawn[-1]).argmin(axis=1)[:, None]
        return statistic([np.take_along_axis(each, rows, axis=1) for each in drawn])

    return of_worst


def worst_reductions(
    runs: Any, family: Family, names: Sequence[str], **wanted: object
) -> tuple[int, list[Interval]]:
    """Return reductions of regret against the old algorithm in the worst model.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    family : Family
        Whose models are chosen.
    names : sequence of str
        The algorithms whose regret is compared with the old one's.
    **wanted
        Labels, where a table holds several experiments.

    Returns
    -------
    tuple of int and list of Interval
        The number of the model, and one reduction a name. Intervals are over models and runs:
        the worst model is chosen anew in each resample.
    """
    choice = choose(runs, family.new, family.old, **wanted)
    samples = _regrets(runs, [*names, family.new, family.old], **wanted)
    statistics = [_in_worst(_below_last(index), len(names)) for index in range(len(names))]
    return int(choice.numbers[choice.worst]), bootstrap_many(samples, statistics)


def average_reductions(
    runs: Any, family: Family, names: Sequence[str], **wanted: object
) -> list[Interval]:
    """Return reductions of regret averaged over models, with intervals over models and runs.

    Parameters
    ----------
    runs : pyarrow.Table
        One row a run.
    family : Family
        Whose old algorithm is compared with.
    names : sequence of str
        The algorithms compared with it.
    **wanted
        Labels, where a table holds several experiments.

    Returns
    -------
    list of Interval
        One reduction a name.
    """
    samples = _regrets(runs, [*names, family.old], **wanted)
    return bootstrap_many(samples, [_below_last(index) for index in range(len(names))])


def _chosen(model: int, models: int) -> str:
    return (
        f"Model {model} is the worst of {models}; intervals are over models and runs, the worst "
        "chosen anew in each resample"
    )


def mab_reduction(runs: Any, scale: Scale) -> Evidence:
    """Return the evidence on `mab-reduction`.

    Parameters
    ----------
    runs : pyarrow.Table
        Of figure `mab`.
    scale : Scale
        What was run.

    Returns
    -------
    Evidence
        One part an algorithm, CUCB2 first.
    """
    family = MEANS_FAMILY
    names = (family.new, family.martingale, family.selection)
    model, (*found, oracle) = worst_reductions(runs, family, (*names, family.oracle))
    judged = same_size(scale, "mab")
    verdicts = (at_least(found[0], 0.51), matches(found[1], 0.43), matches(found[2], 0.12))
    stated = ("more than 51 %", "43 %", "12 %")
    parts = tuple(
        Part(
            f"{name} below {family.old}, worst model",
            interval,
            paper,
            verdict if judged else None,
            scale=not judged,
        )
        for name, interval, paper, verdict in zip(names, found, stated, verdicts, strict=True)
    )
    average = average_reductions(runs, family, names)
    over_models = listed(
        [f"{name} {percent(each.measured)}" for name, each in zip(names, average, strict=True)]
    )
    tail = "" if judged else f"; n = {scale.mab.rounds:,} is not the paper's 1,000,000"
    best = float(choose(runs, family.new, family.old).advantages.max())
    why = (
        f"{_chosen(model, scale.mab.problems)}{tail}. There even {family.oracle}, which knows the "
        f"means, is only {percent(oracle.measured)} below {family.old}: what is left of the regret "
        f"is exploration. In the best model {family.new} is {percent(best)} below. "
        f"Averaged over all models the reductions are {over_models} (width wu)."
    )
    return Evidence("mab-reduction", "mab", parts, why)


def width_reductions(runs: Any, scale: Scale, widths: Sequence[str]) -> Evidence:
    """Return how the reductions of `mab-reduction` move with the width; none of it is judged.

    Parameters
    ----------
    runs : pyarrow.Table
        Of figure `widths`, with the label ``width``.
    scale : Scale
        What was run.
    widths : sequence of str
        The widths compared.

    Returns
    -------
    Evidence
        One part a width and algorithm, in that width's own worst model.
    """
    family = MEANS_FAMILY
    names = (family.martingale, family.selection, family.new)
    parts, texts = [], []
    for width in widths:
        _, found = worst_reductions(runs, family, names, width=width)
        parts += [
            Part(f"{name} below {family.old}, worst model, width {width}", each, counts=False)
            for name, each in zip(names, found, strict=True)
        ]
        texts.append(f"{' / '.join(percent(each.measured) for each in found)} ({width})")
    why = (
        f"At n = {scale.widths.rounds:,} {' / '.join(names)} are below {family.old} in the worst "
        f"model by {', '.join(texts)}."
    )
    return Evidence("mab-reduction", "widths", tuple(parts), why)


def mab_order(runs: Any, scale: Scale) -> Evidence:
    """Return the evidence on `mab-order`.

    Parameters
    ----------
    runs : pyarrow.Table
        Of figure `mab`.
    scale : Scale
        What was run.

    Returns
    -------
    Evidence
        CUCB-S's lead over CUCB-L, and CUCB2's distance to CUCB-Or, as shares of CUCB's regret in
        the worst model. Close means: at most half of CUCB's own distance.
    """
    family = MEANS_FAMILY
    choice = choose(runs, family.new, family.old)
    names = (family.lower, family.selection, family.new, family.oracle, family.old)
    statistics: list[Statistic] = [
        _distance(0, 1),
        _distance(2, 3),
        _distance(4, 3),
        lambda drawn: 0.5 * _distance(4, 3)(drawn) - _distance(2, 3)(drawn),
    ]
    lead, distance, own, closer = bootstrap_many(
        _regrets(runs, names), [_in_worst(each, 2) for each in statistics]
    )
    parts = (
        Part("CUCB-S's gain minus CUCB-L's, worst model", lead, "above 0", above(lead)),
        Part("CUCB2 above CUCB-Or, share of CUCB's regret", distance, "close", above(closer)),
        Part("CUCB above CUCB-Or, share of CUCB's regret", own, counts=False),
    )
    why = (
        f"In the worst model (number {int(choice.numbers[choice.worst])} of {scale.mab.problems}) "
        f"CUCB-S is {percent(lead.measured)} of CUCB's regret ahead of CUCB-L; CUCB2 is "
        f"{percent(distance.measured)} above CUCB-Or where CUCB is {percent(own.measured)} above "
        "it, and close means at most half of that."
    )
    return Evidence("mab-order", "mab", parts, why)


def _at_or_below(found: Interval) -> bool | None:
    return at_most(found, TOLERANCE)


def linear_reduction(runs: Any, scale: Scale) -> Evidence:
    """Return the evidence on `linear-reduction`.

    Parameters
    ----------
    runs : pyarrow.Table
        Of figure `linear`.
    scale : Scale
        What was run.

    Returns
    -------
    Evidence
        The two reductions, the distance between them, and both distances to CLUCB-Or, as shares
        of CLUCB's regret in the worst model.
    """
    family = LINEAR_FAMILY
    choice = choose(runs, family.new, family.old)
    names = (family.selection, family.new, family.oracle, family.old)
    statistics = (
        *(_below_last(0), _below_last(1)),
        *(_distance(0, 1), _distance(0, 2), _distance(1, 2)),
        _below_last(2),
    )
    selection, new, apart, over, new_over, oracle = bootstrap_many(
        _regrets(runs, names), [_in_worst(each, 1) for each in statistics]
    )
    judged = same_size(scale, "linear")
    alike = matches(apart, 0.0)
    numbers = (
        ("CLUCB2 below CLUCB, worst model", new, "38 %", matches(new, 0.38)),
        ("CLUCB-S below CLUCB, worst model", selection, "38 %", matches(selection, 0.38)),
        ("CLUCB-S minus CLUCB2, share of CLUCB's regret", apart, "alike", alike),
        (
            "CLUCB-S minus CLUCB-Or, share of CLUCB's regret",
            over,
            "at or below 0",
            _at_or_below(over),
        ),
        (
            "CLUCB2 minus CLUCB-Or, share of CLUCB's regret",
            new_over,
            "at or below 0",
            _at_or_below(new_over),
        ),
    )
    parts = tuple(
        Part(name, interval, paper, verdict if judged else None, scale=not judged)
        for name, interval, paper, verdict in numbers
    )
    average = average_reductions(runs, family, (family.new, family.selection))
    tail = "" if judged else "; the paper's is the worst of 70"
    why = (
        f"{_chosen(int(choice.numbers[choice.worst]), scale.linear.problems)}{tail}. CLUCB-Or is "
        f"{percent(oracle.measured)} below CLUCB there. Averaged over all models CLUCB2 is "
        f"{percent(average[0].measured)} and CLUCB-S {percent(average[1].measured)} below CLUCB."
    )
    return Evidence("linear-reduction", "linear", parts, why)


def linear_martingale(runs: Any, scale: Scale) -> Evidence:
    """Return the evidence on `linear-martingale`.

    Parameters
    ----------
    runs : pyarrow.Table
        Of figure `linear`.
    scale : Scale
        What was run.

    Returns
    -------
    Evidence
        The reduction of the regret averaged over models.
    """
    family = LINEAR_FAMILY
    (found,) = average_reductions(runs, family, [family.martingale])
    model, worst = worst_reductions(runs, family, [family.martingale])
    part = Part("CLUCB-M below CLUCB, average over models", found, "above 0", above(found))
    why = (
        f"Over {scale.linear.problems} models CLUCB-M's regret is {percent(found.measured)} below "
        f"CLUCB's, an interval over models and runs; in the worst model (number {model}) "
        f"{percent(worst[0].measured)}."
    )
    return Evidence("linear-martingale", "linear", (part,), why)


def always_better(figure: str, runs: Any, family: Family) -> Evidence:
    """Return the evidence of one figure on `always-better`.

    Parameters
    ----------
    figure : str
        Its name.
    runs : pyarrow.Table
        Its runs.
    family : Family
        The algorithms compared.

    Returns
    -------
    Evidence
        The smallest advantage over the models, with an interval over that model's runs. It holds,
        as in the paper, if the run-averaged advantage is positive in every model; it fails if the
        interval of the smallest lies below 0.
    """
    choice = choose(runs, family.new, family.old)
    # The claim is on these models: what is uncertain is the advantage in the worst of them.
    row = slice(choice.worst, choice.worst + 1)
    samples = [regret[row] for regret in _regrets(runs, (family.new, family.old))]
    found = bootstrap(samples, _below_last(0))
    positive = int((choice.advantages > 0).sum())
    models = choice.advantages.size
    holds = True if positive == models else above(found)
    part = Part(f"smallest advantage of {family.new} over {family.old}", found, "above 0", holds)
    reach = "" if found.low > 0 else ", although its interval reaches 0"
    why = (
        f"{family.new} has less regret than {family.old} in {positive} of {models} models; "
        f"the advantage runs from {percent(float(choice.advantages.min()))}{reach} to "
        f"{percent(float(choice.advantages.max()))}."
    )
    return Evidence("always-better", figure, (part,), why)
