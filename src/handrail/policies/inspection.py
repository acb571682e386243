"""What can be read off a policy: its ledger, and what it knows of its actions."""

from __future__ import annotations

from typing import Any

from handrail.conservative.baseline import FROM_MEANS
from handrail.policies.policy import Policy

__all__ = ["accounts", "estimates", "theta"]


def accounts(policy: Policy) -> dict[str, float]:
    """Return the ledger's counts and sums, in units where means lie in [0, 1].

    Parameters
    ----------
    policy : Policy
        Any policy.

    Returns
    -------
    dict
        `rounds`, `plays` (rounds of S), `pending`, `rewards` (how many came), `reward` (their
        sum), `promised` and `waived` (what rounds without a reward count), `spared` (the lower
        ends of the baseline's mean over S_b), `forgone` (the upper ends over S).

    Examples
    --------
    >>> from handrail import make_policy
    >>> policy = make_policy("CUCB2", arms=3, baseline=0, baseline_mean=0.5, alpha=0.2,
    ...                      delta=0.05, reward_range=(0, 1))
    >>> decision = policy.decide()
    >>> accounts(policy)["spared"]
    0.5
    """
    row = policy._state.model.ledger[0]
    counts = {name: int(row[name]) for name in ("rounds", "plays", "pending", "rewards")}
    sums = {
        name: float(row[name]) + float(row[f"{name}_rest"])
        for name in ("reward", "promised", "waived", "spared", "forgone")
    }
    return {**counts, **sums}


def estimates(policy: Policy) -> list[dict[str, Any]] | None:
    """Return what is known of each fixed arm, in the user's units.

    Parameters
    ----------
    policy : Policy
        Any policy.

    Returns
    -------
    list of dict or None
        Of each arm: `plays`, `rewards` (how many came), `mean`, `lower`, `upper`, `retired`. The
        agreed baseline's plays are all of S_b; its mean is the one that was told, if that teaches.
        With `confirm`, other plays are those rewarded. A bound that there is not yet is None. None
        where actions change every round.
    """
    with policy._lock:
        state = policy._state
        state.check_whole()
        standing = policy._standing
        if standing is None:
            return None
        twin = state.copy(state.due())
    units = twin.settings.units
    choices = standing._replace(hold=False)
    twin.decide(choices, "")
    arrays = state.model.arrays()
    ledger = accounts(policy)
    held = int(ledger["rounds"] - ledger["plays"])
    result = []
    for arm in range(len(arrays["gone"])):
        _, upper, lower = twin.model.examined(arm)
        counted = "counts" in arrays
        rewards = int(arrays["counts"][arm]) if counted else None
        total = float(arrays["sums"][arm]) if counted else 0.0
        retired = bool(arrays["gone"][arm])
        also = held if arm == twin.settings.baseline else 0
        result.append(
            {
                "plays": int(arrays["plays"][arm]) + also if counted else None,
                "rewards": rewards,
                "mean": units.outward(total / rewards) if rewards else None,
                "lower": units.outward(lower),
                "upper": units.outward(upper) if abs(upper) != float("inf") else None,
                "retired": retired,
            }
        )
        if twin.settings.lessons == FROM_MEANS and arm == twin.settings.baseline:
            result[-1]["rewards"] = 0  # what the model learned of it is the mean that was told
    return result


def theta(policy: Policy) -> list[float] | None:
    """Return the coefficients of a linear model over contexts; None for other models.

    Parameters
    ----------
    policy : Policy
        Any policy.

    Returns
    -------
    list of float or None
        theta_hat, the last one of the constant feature where rewards start elsewhere than at 0.
    """
    arrays = policy._state.model.arrays()
    return [float(each) for each in arrays["theta"]] if "theta" in arrays else None
