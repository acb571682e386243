"""The parameters of a policy: which ones an algorithm uses, their checks, and what they become."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from handrail import checks
from handrail.bounds.arm import ARM_WIDTHS
from handrail.bounds.cumulative import CUMULATIVE_BOUNDS
from handrail.bounds.ellipsoid import ELLIPSOID_WIDTHS
from handrail.bounds.mixture import mixture_rho
from handrail.conservative.baseline import CONSTANT, FROM_MEANS, FROM_REWARDS, NOTHING
from handrail.conservative.past import CLIPS, PASTS
from handrail.conservative.schedule import REPORTED, SCHEDULES
from handrail.conservative.selection import SELECTIONS
from handrail.errors import InputError, shown
from handrail.policies.accounting import ACCOUNTINGS, Levels, spend
from handrail.policies.algorithm import Algorithm
from handrail.policies.defaults import (
    MOST_ARMS,
    default_width,
    refuse_unused,
    required,
    resolve,
    spent_on,
)
from handrail.policies.gaps import Schedule, make_schedule
from handrail.policies.knowledge import Known, know
from handrail.policies.linear_bounds import linear_bounds
from handrail.policies.names import action_name
from handrail.policies.notes import Note, promise_notes, warn_of_void
from handrail.policies.units import Units, make_units
from handrail.records import RULES, Floats, Record, new_record

__all__ = ["EDITION", "Confirm", "Settings", "settle"]


_MOST_ARMS: Final = 10**7
_MOST_DIM: Final = 10**4


Confirm: TypeAlias = bool | Literal["by-reward"]

EDITION: Final = 2
"""Edition 1 is the rule of policies that were made before: an unconfirmed round counts
min(max(lower, 0), mu_b), a missing reward without a default leaves that for good, and a default is
learned whether or not the action was played."""


class Settings(NamedTuple):
    """Parameters, checked, in inner units, ready for a model."""

    algorithm: Algorithm
    units: Units
    rules: Record
    actions: int | None
    dim: int
    """Length of the features the user gives; 0 where there are none."""
    features: Floats | None
    feature_bound: float
    theta_bound: float
    """Of a linear model that a promise rests on, in the user's units; 0 elsewhere."""
    baseline: int | str | None
    known: Known
    """What is known of the baseline's mean; no mean where every round says it."""
    baseline_lower: float
    schedule: Schedule | None
    """Checkpoints that are no multiples of a number."""
    lessons: int
    """What is learned from baseline rounds."""
    open_arms: bool
    """Whether arms may be added without end."""
    truth: Floats | None
    window: int | None
    default_reward: float | None
    failure: float | None
    confirm: Confirm
    """Whether a decision may not have been carried out, and what shows that it was."""
    edition: int
    """Of the rules for decisions that are lost and rewards that never come."""
    notes: tuple[Note, ...]
    """What the promise rests on, or what voids it."""

    @property
    def needs_word(self) -> bool:
        """Whether an action has to be said to be played, apart from its reward."""
        return self.edition > 1 and self.confirm is True and self.default_reward is not None

    @property
    def one_mean(self) -> bool:
        """Whether one mean of the baseline stands for all rounds, and so for all users."""
        return self.known.low is not None


def settle(
    algorithm: Algorithm, given: Mapping[str, Any], *, warn: bool = True, edition: int = EDITION
) -> Settings:
    """Check all parameters of a policy against its algorithm.

    Parameters
    ----------
    algorithm : Algorithm
        The row of parts.
    given : mapping
        The parameters of `make_policy`, all of them.
    warn : bool, default=True
        Whether to warn where a promise is void; a simulation measures it instead.
    edition : int
        Of the rules for what is lost, as `Settings.edition`.

    Returns
    -------
    Settings
        What the policy is built from.
    """
    refuse_unused(algorithm, given)
    given = resolve(algorithm, given)
    linear, guard = algorithm.estimator == "linear", algorithm.estimator == "none"
    units = make_units(given["reward_range"], given["mean_range"])
    actions, dim, features = _shape(algorithm, given, units)
    known = know(algorithm, given["baseline_mean"], units, varying=actions is None)
    width = _width(given["width"], algorithm, dim, actions or 0)
    cumulative = checks.one_of("cumulative", given["cumulative"], CUMULATIVE_BOUNDS)
    _check_bounded(algorithm, units, width, cumulative, known.learned)
    # Nothing but `ucb1` does without noise and delta, and a martingale needs them beside it.
    needed = width != "ucb1" or algorithm.past in ("martingale", "larger")
    noise = _noise(given["noise"], units, needed)
    levels = _levels(algorithm, given, width, cumulative, needed, known.learned)
    if width == "intersection":  # of two kinds of bounds, each at half the share
        levels = levels._replace(estimator=levels.estimator / 2.0)
    baseline = _baseline(algorithm, given, actions)
    tightest = checks.positive("tightest_at", given["tightest_at"]) * noise**2
    arms = _arms_ever(given["arms_ever"], actions)
    learns = _lessons(given["learn_baseline"], known)
    default_reward = None
    if given["default_reward"] is not None:
        default_reward = units.reward("default_reward", given["default_reward"])
    confirm = _confirm(algorithm, given["confirm"], actions)
    if confirm == "by-reward":
        _check_by_reward(algorithm, units, default_reward, known, learns)
    notes = promise_notes(algorithm, given, width, levels.failure, learns, edition)
    if warn:
        warn_of_void(notes, stacklevel=4)
    rules = new_record(
        RULES,
        past=PASTS[algorithm.past],
        selection=SELECTIONS[algorithm.selection],
        schedule=SCHEDULES[algorithm.schedule],
        clip_zero=CLIPS[checks.one_of("clip", given["clip"], CLIPS)],
        width=ELLIPSOID_WIDTHS[width] if linear else ARM_WIDTHS[width],
        cumulative=CUMULATIVE_BOUNDS[cumulative],
        noise=noise,
        estimator_level=levels.estimator,
        martingale_level=levels.martingale,
        cumulative_rho=mixture_rho(tightest, levels.martingale) if cumulative == "mixture" else 0,
        arm_rho=(
            mixture_rho(tightest, levels.estimator / arms)
            if width in ("mixture", "intersection") and not guard
            else 0
        ),
        arms=math.ceil(arms),
        open_arms=given["arms_ever"] == "any",
        dim=dim,
        knowledge=known.code,
        learn_baseline=learns,
        baseline_level=levels.baseline,
        baseline_rho=mixture_rho(tightest, levels.baseline) if guard else 0,
        confirm=confirm is not False,
        credit=edition == 1,
    )
    schedule = None
    if algorithm.conservative:
        rules["alpha"] = checks.share("alpha", required("alpha", algorithm, given))
    if algorithm.schedule == "checkpoints":
        schedule = make_schedule(given, levels.schedule)
        if schedule is None:
            rules["checkpoint_every"] = checks.whole("checkpoint_every", given["checkpoint_every"])
        else:
            rules["schedule"] = REPORTED
        rules["baseline_lower"] = _baseline_lower(algorithm, given, units, known)
    if linear:
        linear_bounds(algorithm, given, units, features, width, rules)
    return Settings(
        algorithm=algorithm,
        units=units,
        rules=rules,
        actions=actions,
        dim=dim - 1 if linear and units.shifted else dim,
        features=features,
        feature_bound=float(rules["feature_bound"][0]),
        theta_bound=float(given["theta_bound"]) if linear and algorithm.conservative else 0.0,
        baseline=baseline,
        known=known,
        baseline_lower=float(rules["baseline_lower"][0]),
        schedule=schedule,
        lessons=learns,
        open_arms=given["arms_ever"] == "any",
        truth=_truth(algorithm, given, units, actions),
        window=None if given["window"] is None else checks.whole("window", given["window"]),
        default_reward=default_reward,
        failure=levels.failure,
        confirm=confirm,
        edition=edition,
        notes=notes,
    )


def _shape(
    algorithm: Algorithm, given: Mapping[str, Any], units: Units
) -> tuple[int | None, int, Floats | None]:
    """Return the number of actions (None: it may change), the dimension and fixed features."""
    if algorithm.estimator == "none":
        return None, 0, None
    if algorithm.estimator == "means":
        arms = checks.whole("arms", required("arms", algorithm, given), most=_MOST_ARMS)
        return arms, 0, None
    if (given["dim"] is None) == (given["features"] is None):
        raise InputError(
            "dim" if given["dim"] is None else "features",
            f"{algorithm.name} needs one of dim and features",
            "pass dim where features change every round, or the features of fixed arms",
        )
    constant = 1 if units.shifted else 0
    if given["dim"] is not None:
        return None, checks.whole("dim", given["dim"], most=_MOST_DIM) + constant, None
    features = checks.finite("features", checks.array("features", given["features"], (None, None)))
    features = np.array(units.augment(features))
    return len(features), features.shape[1], features


def _arms_ever(value: object, actions: int | None) -> float:
    """Return the number K of which one arm's share of the level is at most one."""
    if value is None:
        return actions if actions is not None else 0
    assert actions is not None
    if isinstance(value, str):
        checks.one_of("arms_ever", value, ("any",))
        return math.pi**2 / 6.0  # the first arm's; later ones have less
    return checks.whole("arms_ever", value, least=actions, most=_MOST_ARMS)


def _check_bounded(
    algorithm: Algorithm, units: Units, width: str, cumulative: str, learned: bool
) -> None:
    """Refuse bounds that hold for rewards in a range only, where none is declared."""
    if units.bounded:
        return
    means = algorithm.estimator == "means" or (algorithm.estimator == "none" and learned)
    if means and width == "kl":
        raise InputError("width", "'kl' needs rewards in a range", "declare reward_range")
    if algorithm.past in ("martingale", "larger") and cumulative == "bernstein":
        raise InputError(
            "cumulative", "'bernstein' needs rewards in a range", "declare reward_range"
        )


def _width(value: object, algorithm: Algorithm, dim: int, arms: int) -> str:
    if value is None:
        return default_width(algorithm, dim)
    if algorithm.estimator == "none":
        return checks.one_of("width", value, ("mixture", "kl"))
    if algorithm.estimator != "linear":
        return checks.one_of("width", value, ARM_WIDTHS)
    width = checks.one_of("width", value, ELLIPSOID_WIDTHS)
    if width == "intersection" and not 0 < arms <= MOST_ARMS:
        raise InputError(
            "width", f"'intersection' needs fixed arms, at most {MOST_ARMS}", "use 'determinant'"
        )
    if width == "paper" and dim == 1:
        raise InputError(
            "width", "'paper' is not a confidence width in dimension 1", "use 'determinant'"
        )
    return width


def _noise(value: object, units: Units, needed: bool) -> float:
    if value is None:
        if needed and not units.bounded:
            raise InputError(
                "noise", "is required without reward_range", "pass noise or reward_range"
            )
        return 0.5
    return checks.positive("noise", checks.positive("noise", value) / units.scale)


def _levels(
    algorithm: Algorithm,
    given: Mapping[str, Any],
    width: str,
    cumulative: str,
    needed: bool,
    learned: bool,
) -> Levels:
    accounting = checks.one_of("accounting", given["accounting"], ACCOUNTINGS)
    delta = 0.5
    if needed or given["delta"] is not None:
        delta = checks.share("delta", required("delta", algorithm, given))
        checks.positive("delta", delta)
    spent = 0.0
    if given["baseline_delta"] is not None:
        spent = checks.share("baseline_delta", given["baseline_delta"])
        told = given["baseline_mean"]
        pairs = told is None or isinstance(told, tuple | list | np.ndarray)
        if learned or not pairs or spent >= delta:
            raise InputError(
                "baseline_delta",
                f"{spent:g} is no part of delta {delta:g} that an interval could take",
                "pass the probability with which the pair baseline_mean may be wrong, below delta",
            )
    weights = given["delta_weights"]
    names = spent_on(algorithm, given)
    return spend(algorithm, names, accounting, delta, width, cumulative, weights, spent)


def _baseline(
    algorithm: Algorithm, given: Mapping[str, Any], actions: int | None
) -> int | str | None:
    """Return the baseline that holds where a round names none."""
    baseline = given["baseline"]
    if algorithm.estimator == "none":
        return None if baseline is None else action_name("baseline", baseline)
    if actions is not None and algorithm.conservative:
        required("baseline", algorithm, given)
        required("baseline_mean", algorithm, given)
    if baseline is not None:
        limit = actions if actions is not None else 2**62
        return checks.index("baseline", baseline, limit)
    return None


def _baseline_lower(
    algorithm: Algorithm, given: Mapping[str, Any], units: Units, known: Known
) -> float:
    if given["baseline_lower"] is None and known.low is not None:
        return known.low
    lower = units.mean("baseline_lower", required("baseline_lower", algorithm, given))
    if known.high is not None and lower > known.high:
        raise InputError(
            "baseline_lower",
            f"{units.outward(lower):g} is above the baseline's mean",
            "pass a lower bound on every future baseline mean",
        )
    return lower


def _lessons(value: object, known: Known) -> int:
    """Say what is learned from baseline rounds: nothing, their rewards, or their known mean."""
    if isinstance(value, bool | np.bool_):
        return FROM_REWARDS if known.learned or value else NOTHING
    if not isinstance(value, str) or value != "mean":
        raise InputError(
            "learn_baseline", f"{shown(value)} is not known", "pass true, false or 'mean'"
        )
    if known.learned:
        return FROM_REWARDS
    return NOTHING if known.code == CONSTANT else FROM_MEANS


def _confirm(algorithm: Algorithm, value: object, actions: int | None) -> Confirm:
    """Say whether rounds have to be confirmed; sums of true means over contexts do not wait."""
    if isinstance(value, str) and value != "by-reward":
        raise InputError("confirm", f"{value!r} is not known", "pass True, False or 'by-reward'")
    confirm: Confirm = "by-reward" if isinstance(value, str) else checks.flag("confirm", value)
    if confirm and algorithm.past == "oracle" and actions is None:
        raise InputError("confirm", "is not for an oracle with dim", "leave it out")
    return confirm


def _check_by_reward(
    algorithm: Algorithm, units: Units, default: float | None, known: Known, learns: int
) -> None:
    """Refuse rewards as the only sign of a played action where silence could raise a bound.

    A row of the lowest reward for an action that nobody played lowers the sum of the rewards and
    its own arm's mean: no bound rises. A linear model carries it over to other actions with either
    sign, a baseline's mean that is learned too low makes the need too small, and an oracle counts
    the mean of what was decided, whatever the reward.
    """
    remedy = "leave 'by-reward' out, and say which decisions' actions were played"
    if algorithm.past == "oracle":
        raise InputError("confirm", "'by-reward' is not for an oracle", remedy)
    if algorithm.estimator == "linear":
        raise InputError("confirm", "'by-reward' is not for a linear model", remedy)
    if default is None or not units.bounded or default != 0.0:
        raise InputError(
            "confirm",
            "'by-reward' needs the lowest reward as default_reward",
            "declare reward_range and its lower end as default_reward",
        )
    if known.learned or learns == FROM_REWARDS:
        raise InputError(
            "confirm", "'by-reward' is not for a baseline that is learned from rewards", remedy
        )


def _truth(
    algorithm: Algorithm, given: Mapping[str, Any], units: Units, actions: int | None
) -> Floats | None:
    """Return the true means of fixed arms, for an oracle."""
    if algorithm.past != "oracle":
        return None
    if actions is None:
        if given["true_means"] is not None:
            raise InputError("true_means", "change with the contexts", "pass them with every round")
        return None
    return units.means("true_means", required("true_means", algorithm, given), actions)
