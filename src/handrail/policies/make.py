"""From a name and parameters to a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from handrail.errors import InputError, shown
from handrail.policies.algorithm import Algorithm
from handrail.policies.catalogue import algorithm, algorithm_by_name_alone
from handrail.policies.defaults import FILLED_IN
from handrail.policies.parameters import EDITION
from handrail.policies.policy import Policy

__all__ = ["make_policy", "remake_policy"]


def make_policy(
    name: str | Algorithm,
    *,
    arms: int | None = None,
    dim: int | None = None,
    features: ArrayLike | None = None,
    baseline: int | str | None = None,
    baseline_mean: float | tuple[float, float] | str | None = None,
    alpha: float | None = None,
    delta: float | None = None,
    noise: float | None = None,
    reward_range: tuple[float, float] | None = None,
    mean_range: tuple[float, float] | None = None,
    theta_bound: float | None = None,
    feature_bound: float | None = None,
    ridge: float | str | None = None,
    width: str | None = None,
    cumulative: str | None = None,
    accounting: str = "union",
    delta_weights: Mapping[str, float] | None = None,
    tightest_at: float | None = None,
    clip: str = "zero",
    checkpoint_every: int | None = None,
    checkpoints: Sequence[int] | None = None,
    checkpoint_gap: Any = None,
    baseline_lower: float | None = None,
    baseline_delta: float | None = None,
    learn_baseline: bool | str | None = None,
    arms_ever: int | str | None = None,
    true_means: ArrayLike | None = None,
    window: int | None = None,
    default_reward: float | None = None,
    confirm: bool | str = False,
) -> Policy:
    r"""Make a policy: an algorithm with its parameters, ready for its first round.

    Parameters
    ----------
    name : str or Algorithm
        A name from `handrail.algorithms()`, or parts put together by hand.
    arms : int
        Number of arms K, the baseline among them (multi-armed algorithms).
    dim : int
        Length of the features, given to `decide` every round (linear algorithms).
    features : array_like of shape (K, d)
        Features of fixed arms, in place of `dim`; then `decide` needs no argument.
    baseline : int or str
        The baseline's index; for a guard any name. With `dim`, and for a guard, it may be given to
        `decide` instead, every round.
    baseline_mean : float, (float, float) or "learned"
        The mean reward of the baseline, likewise; with contexts, its mean given the round's
        context, for which an average over contexts does not stand. Or an interval in which it
        lies, or "learned": it is unknown, and learned from the rewards of baseline rounds. One that
        is further from 0 than `theta_bound` times the norm of the baseline's features is refused.
    alpha : float
        The share of the baseline's reward that may be lost, in (0, 1).
    delta : float
        The probability with which the promise may fail, in (0, 1).
    noise : float
        Sub-Gaussian constant of the noise; (high - low) / 2 by default with `reward_range`.
    reward_range : (float, float)
        Where rewards lie; others are refused. With low != 0 the promise is one on reward above
        low, and linear models get a constant feature. A range shorter than 1e-10 of its larger end
        is refused.
    mean_range : (float, float)
        Where means lie while rewards may lie anywhere, in place of `reward_range`; (0, 1) when
        neither is given.
    theta_bound, feature_bound : float
        B >= |theta| and D >= |phi| of a linear model. Longer features are refused. D is by
        default that of `features`; the width `determinant` does without it.
    ridge : float or "balanced"
        lambda of the ridge regression, 1 by default; "balanced" is (noise / theta_bound)^2, where
        the bias is as large as the noise (default of LinHANDRAIL).
    width : str
        `wu` (default), `mixture`, `kl` (rewards in a range only) or `ucb1` for arms; `paper`
        (default for d >= 2), `determinant` or, over fixed arms, `intersection` for linear models.
        HANDRAIL takes `kl` or `mixture`, LinHANDRAIL `intersection` or `determinant`. Of a guard:
        the interval of a baseline mean that is learned.
    cumulative : {"paper", "subgaussian", "mixture", "bernstein"}
        The bound on the cumulative reward in the martingale past, `paper` by default; `bernstein`
        is for rewards in a range only. HANDRAIL and guards take `bernstein` or `mixture`.
    accounting : {"union", "paper"}, default="union"
        How delta is spent: `union` keeps the total within delta; `paper` puts delta into each
        width, as the figures of the paper do.
    delta_weights : mapping
        Weights of the events "estimator", "martingale", "baseline" (the interval that a guard
        learns) and "schedule" (random gaps) under `union`, as far as there are any; equal by
        default.
    tightest_at : float
        The number of rewards at which mixture boundaries are tightest; 1000 by default, 10 for
        HANDRAIL and LinHANDRAIL.
    clip : {"zero", "none"}, default="zero"
        Whether the past term is cut at 0.
    checkpoint_every : int
        T: the promise is checked at rounds T, 2T, ...
    checkpoints : sequence of int
        In place of it: the rounds at which it is checked; after the last, every round.
    checkpoint_gap : int, frozen distribution, array_like or mapping
        In place of it: checkpoints come when somebody says so (`Policy.checkpoint`), no sooner
        after each other than this; or after gaps with this law (of `scipy.stats`, or
        ``{"law": "poisson", "args": [50]}``), independent of what is played; or with the law that
        is all of this sample: a gap shorter than its shortest voids the promise. Of a gap that is
        no whole number the whole rounds count. 1 is for checkpoints that an adversary chooses.
    baseline_lower : float
        A lower bound on every future baseline mean; by default `baseline_mean`, the lower end of
        its interval, or 0 where it is learned.
    baseline_delta : float
        The probability with which an interval given for the baseline's mean may be wrong; it is
        taken out of delta.
    learn_baseline : bool or "mean"
        Whether the estimator learns from baseline rounds too: from their rewards (they then await
        one), or from their known mean, as a reward without noise (default of LinHANDRAIL over
        fixed arms, where only the agreed baseline with its agreed mean teaches; the mean is then
        held to be linear in the features like all others). With `dim`, "mean" takes what is told
        for the mean in the round's context: an average over contexts learned so breaks the promise.
    arms_ever : int or "any"
        How many arms there will be at most, or any number, for `Policy.add_arm`: each has its
        share of delta from the start.
    true_means : array_like of shape (K,)
        The true means, for oracles; with `dim` they are given to `decide`.
    window : int
        Rounds after which a reward counts as missing: the window of round i closes when round
        i + window is decided, before that decision. Rewards are then used at the close, in the
        order of decisions, and need no assumption on delays. Without a window they are used as
        they arrive (see Notes).
    default_reward : float
        What a missing reward counts as: when the window closes or, without a `window`, only where
        `Policy.close` gives the decision up. Without it the round earned the lowest reward, and is
        never learned from.
    confirm : bool or "by-reward", default=False
        Whether a decision may not have been carried out: its answer was lost, and nobody knows
        what was played instead (see Notes). True: where a `default_reward` is declared,
        `Policy.played` shows that it was; elsewhere its reward does. "by-reward": its reward does
        although a default is declared; only for guards and multi-armed algorithms, oracles
        excepted, whose default is the lowest reward and whose baseline's mean is told. True is not
        for oracles with `dim`; it makes no difference to what UCB and LinUCB promise, which is
        nothing.

    Returns
    -------
    Policy
        The policy.

    Raises
    ------
    InputError
        If a parameter is wrong, missing, or not used by the algorithm.

    Notes
    -----
    The certificates of linear algorithms rest on the linear model: if means are not linear in the
    features, nothing is promised. `Policy.notes` says so.

    Rewards may be used as they arrive only if, given everything known at arrival, rewards of later
    rounds that came sooner included, their mean is still the action's. Delays independent of
    rewards together with noise independent across rounds are enough; delays independent of rewards
    alone are not. Otherwise declare `window` and `default_reward`.

    With `confirm`, a round of S counts nothing until it is confirmed and its reward is used: it is
    in neither N_k (`arm-sums`) nor x (`self-normalised`) nor the sum of rewards (`martingale`),
    while what is owed counts all of S. So every margin holds whatever became of the earlier
    decisions, also where it depends on the user who gets lost.

    With a default, a missing reward and a lost decision look alike. Rows of defaults for actions
    that nobody played would teach the estimator something else, so that `Policy.played` has to say
    what was carried out, for every decision and before its reward is known. When the window closes,
    a round that was said to be played takes its reward or the default; any other counts nothing for
    good, even if a reward came. Where baseline rounds are learned from, the same holds for them.

    Without a default, a reward that is missing when the window closes counts as the lowest reward
    in the sum of rewards; no estimator learns it, and the round leaves N_k and x.

    `Policy.fall_back` says that the baseline was played after all.

    References
    ----------
    E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved algorithms for
    conservative exploration in bandits. AAAI.

    Examples
    --------
    >>> policy = make_policy("HANDRAIL", arms=3, baseline=0, baseline_mean=0.5, alpha=0.2,
    ...                      delta=0.05, reward_range=(0, 1))
    >>> for _ in range(5):
    ...     decision = policy.decide()
    ...     status = policy.learn(decision, reward=0.5)
    >>> decision.round, decision.action, decision.event
    (5, 1, 'optimistic')

    A baseline whose mean nobody knows, and checkpoints that come no sooner than every 50 rounds,
    so that the first rounds are free:

    >>> policy = make_policy("HANDRAILT", arms=3, baseline=0, baseline_mean="learned", alpha=0.2,
    ...                      delta=0.05, reward_range=(0, 1), checkpoint_gap=50)
    >>> decision = policy.decide()
    >>> decision.event, decision.awaits_reward
    ('optimistic', True)
    """
    given: dict[str, Any] = dict(locals())
    row = given.pop("name")
    if not isinstance(row, Algorithm):
        if not isinstance(row, str):
            raise InputError("name", f"{row!r} is neither a name nor an Algorithm")
        row = algorithm(row)
    policy = Policy(row, given)
    policy.check_standing()
    return policy


def remake_policy(
    name: str, given: Mapping[str, Any], resolved: Mapping[str, Any] | None = None
) -> Policy:
    """Make a policy again as the release made it that wrote its parameters down.

    Parameters
    ----------
    name : str
        The algorithm's name.
    given : mapping
        The parameters that were given to `make_policy`.
    resolved : mapping, optional
        What `handrail.policies.defaults.resolved_parameters` returned then, and the `edition` of
        the rules for what is lost, if it was another. Without it, names, presets and rules are
        those from before they were written down.

    Returns
    -------
    Policy
        The policy, before its first round.

    Raises
    ------
    InputError
        If that cannot be what a release wrote down for these parameters.
    """
    if resolved is None:
        return Policy(algorithm_by_name_alone(name), given, edition=1)
    row = Algorithm(**resolved["algorithm"])
    filled_in, edition = resolved["parameters"], resolved.get("edition", EDITION)
    if row.name != name or not set(row.preset) <= set(FILLED_IN):
        raise InputError("algorithm", f"{shown(row.name)} is not what {shown(name)} meant")
    _check_filled_in(given, filled_in)
    if type(edition) is not int or not 1 <= edition <= EDITION:
        raise InputError("edition", f"{shown(edition)} is not known", "upgrade handrail")
    return Policy(row, given, filled_in, edition=edition)


def _check_filled_in(given: Mapping[str, Any], filled_in: Mapping[str, Any]) -> None:
    """Refuse values that no release fills in, and those that stand against what was given."""
    for field, value in filled_in.items():
        if field not in FILLED_IN or given.get(field) not in (None, value):
            raise InputError(field, "cannot have been filled in: it has to be given, or was")
    if "noise" in filled_in:
        # No choice: rewards in a range are sub-Gaussian with half of its length, if nothing less
        # was declared.
        low, high = given.get("reward_range") or (0.0, 0.0)
        if filled_in["noise"] != (float(high) - float(low)) / 2.0:
            raise InputError("noise", "is not what follows from reward_range")
