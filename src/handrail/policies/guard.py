"""A handrail for any policy: it proposes, the guard answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handrail.policies.make import make_policy
from handrail.policies.names import Action
from handrail.policies.policy import Policy

__all__ = ["guard"]


def guard(
    *,
    baseline: Action | None = None,
    baseline_mean: float | tuple[float, float] | str | None = None,
    alpha: float | None = None,
    delta: float | None = None,
    reward_range: tuple[float, float] | None = None,
    noise: float | None = None,
    mean_range: tuple[float, float] | None = None,
    cumulative: str | None = None,
    width: str | None = None,
    accounting: str = "union",
    delta_weights: Mapping[str, float] | None = None,
    tightest_at: float | None = None,
    clip: str = "zero",
    checkpoint_every: int | None = None,
    checkpoints: Sequence[int] | None = None,
    checkpoint_gap: Any = None,
    baseline_lower: float | None = None,
    baseline_delta: float | None = None,
    window: int | None = None,
    default_reward: float | None = None,
    confirm: bool | str = False,
) -> Policy:
    r"""Make a guard: your own policy proposes an action, the guard plays it or the baseline.

    With probability 1 - delta the cumulative mean reward never falls below (1 - alpha) of what the
    baseline would have earned, whatever makes the proposals. Nothing is assumed of how rewards
    depend on actions or contexts.

    Parameters
    ----------
    baseline : int or str
        The action to fall back on; it may be given to `decide` instead, every round. Without it a
        `baseline_mean` given here is that of whichever action a round names, as `notes` says.
    baseline_mean : float, (float, float) or "learned"
        Its mean reward: known, within an interval, or one constant mean that is learned from
        the rewards of its rounds. A number or a pair may be given to `decide` instead, every
        round, and must be where it depends on the round's context (see Notes).
    alpha : float
        The share of the baseline's reward that may be lost, in (0, 1).
    delta : float
        The probability with which the promise may fail, in (0, 1).
    reward_range : (float, float)
        Where rewards lie; others are refused. With low != 0 the promise is on reward above low.
    noise : float
        Sub-Gaussian constant of the noise, where rewards have no range.
    mean_range : (float, float)
        Where means lie, beside `noise`; (0, 1) by default.
    cumulative : {"bernstein", "mixture", "subgaussian", "paper"}
        The bound psi; by default "bernstein" with `reward_range`, else "mixture".
    width : {"kl", "mixture"}
        The interval of a mean that is learned; by default "kl" with `reward_range`.
    accounting, delta_weights, tightest_at, clip
        As for `make_policy`. The events are "martingale", "baseline" where its mean is learned,
        and "schedule" where gaps between checkpoints are random.
    checkpoint_every, checkpoints, checkpoint_gap
        When the promise is checked, if not every round: as for `make_policy`. One of them makes
        it a GUARD-T.
    baseline_lower : float
        For checkpoints: a lower bound on every future mean of the baseline; by default that of
        `baseline_mean`.
    baseline_delta : float
        The probability with which a pair `baseline_mean` may be wrong; a part of delta.
    window, default_reward
        For rewards that may be missing: as for `make_policy`. A window without a default counts a
        missing reward as the lowest one, which only a `reward_range` has.
    confirm : bool or "by-reward", default=False
        As for `make_policy`. A proposal counts nothing until its reward comes in any case; True
        asks for `Policy.played` where a `default_reward` is declared, and both allow
        `Policy.fall_back`.

    Returns
    -------
    Policy
        GUARD, or GUARD-T where checkpoints are given. Its ``decide(proposal=...)`` answers.

    Raises
    ------
    InputError
        If a parameter is wrong, missing, or not used by a guard.

    Notes
    -----
    S are the rounds before t in which a proposal was played, s of them; S_b those in which the
    baseline was. The proposal of round t is played if

    .. math:: \sum_{S_b} \mu_b + \max\Big(\sum_{S} r - \psi(s), 0\Big) + 0
              + \mathrm{slack}(t) - (1 - \alpha) \sum_{i \le t} \mu_b(i) \ge 0.

    r_i - E[r_i | past, context, action] is a martingale difference whatever chose the action, and
    with probability 1 - delta its sum over S stays above -psi(s) at all times; of the proposal at
    hand it is only used that its mean is not below 0.

    **Late rewards** may be used as they arrive only if, given everything known at arrival, rewards
    of later rounds that came sooner included, their mean is still the action's: as for
    `make_policy`. Otherwise declare `window` and `default_reward`.

    **What the baseline's mean has to be.** mu_b(i) is the mean of the baseline's reward *given the
    context of round i*. Where contexts change it, each round must say it, or an interval for it.

    **If only a population mean is known**, m = E[mu_b(x)] over contexts x, a weaker promise is
    kept, under three conditions: contexts are independent of the past and alike in distribution;
    whether the baseline is played depends on the past alone, not on the context; noise covers the
    spread between contexts too (with `reward_range` it does; else pass sqrt(noise^2 + (high -
    low)^2 / 4)). Then E[r_i | past] = m in every baseline round, r_i - E[r_i | past] is a
    martingale difference in all the others, and the same margin certifies

    .. math:: \sum_{i \le t} \big( E[r_i \mid \text{past}] - (1 - \alpha) m \big) \ge 0:

    the budget in expectation over the contexts, given the past. It says nothing of the contexts
    that did come: the budget on those differs by a martingale of order sqrt(t). The margin itself
    depends on the past alone. What can break the second condition is the proposal: one that is the
    baseline in some contexts is counted in S_b there, and those rounds are no sample of the
    population. The promise is then void. So with a population mean ask about *policies*, not
    actions: ``decide(proposal="mine", baseline="production")``, in every round, and let the one
    that is named act, whichever action it takes; `handrail.Guarded` does so with
    ``population=True``. A mean that is "learned" is a population mean.

    References
    ----------
    E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved algorithms for
    conservative exploration in bandits. AAAI. (The martingale bound.)
    S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon (2021). Time-uniform, nonparametric,
    nonasymptotic confidence sequences. Annals of Statistics 49.

    Examples
    --------
    >>> watch = guard(baseline="old", baseline_mean=0.5, alpha=0.5, delta=0.05, reward_range=(0, 1))
    >>> played = []
    >>> for _ in range(5):
    ...     decision = watch.decide(proposal="new")
    ...     played.append(decision.action)
    ...     if decision.action == "new":
    ...         status = watch.learn(decision, reward=1.0)
    >>> played
    ['old', 'new', 'old', 'new', 'old']
    """
    given: dict[str, Any] = dict(locals())
    scheduled = any(each is not None for each in (checkpoint_every, checkpoints, checkpoint_gap))
    return make_policy("GUARD-T" if scheduled else "GUARD", **given)
