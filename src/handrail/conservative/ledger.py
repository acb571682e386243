"""The ledger: what the baseline would have earned, what was given up, what came in.

An action a is safe at round t when its certified margin is >= 0:

    margin(a) = sum_{S_b} mu_b + past_and_now(a) + slack(t) - (1 - alpha) sum_{i <= t} mu_b(i)

Collecting the coefficient of every round's mu_b, rounds of S_b carry +alpha, rounds of S and the
present one carry -(1 - alpha); what past_and_now and slack have to make up for is the *need*.
"""

from __future__ import annotations

from handrail.compiled import lean
from handrail.records import Ledger, Rules

__all__ = [
    "add",
    "constant_need",
    "need",
    "record_choice",
    "record_decision",
    "record_earned",
    "record_fallback",
    "record_holds",
    "record_lesson",
    "record_missed",
    "record_plays",
    "record_reward",
    "record_row",
    "record_waived",
]


@lean
def add(total: float, rest: float, value: float) -> tuple[float, float]:
    """Add to a running sum whose rounding error is kept apart (Knuth's exact two-sum)."""
    result = total + value
    virtual = result - total
    error = (total - (result - virtual)) + (value - virtual)
    return result, rest + error


@lean
def _same_mean(ledger: Ledger, low: float, high: float) -> bool:
    if low != high:
        return False
    return ledger.rounds == 0 or (ledger.constant == 1 and high == ledger.baseline_mean)


@lean
def constant_need(rules: Rules, plays: int, rounds: int, mean: float) -> float:
    """Return the need of so many plays in so many rounds, all with one baseline mean."""
    return mean * (plays - rules.alpha * rounds)


@lean
def need(rules: Rules, ledger: Ledger, low: float, high: float) -> float:
    """Return (1 - alpha) sum_{i <= t} mu_b(i) - sum_{S_b} mu_b if this round is not the baseline's.

    Notes
    -----
    While the baseline's mean never changed, it is mu_b (s + 1 - alpha t): count times mean, which
    does not depend on how the rounds were added up. Otherwise (1 - alpha) (forgone + mu_b) -
    alpha spared, from running sums. Of a mean between low and high, rounds of S and this one take
    high, rounds of S_b low.
    """
    if _same_mean(ledger, low, high):
        return constant_need(rules, ledger.plays + 1, ledger.rounds + 1, high)
    given_up = ledger.forgone + ledger.forgone_rest + high
    return (1.0 - rules.alpha) * given_up - rules.alpha * (ledger.spared + ledger.spared_rest)


@lean
def _count_round(ledger: Ledger, low: float, high: float) -> None:
    ledger.constant = 1 if _same_mean(ledger, low, high) else 0
    ledger.rounds += 1
    ledger.baseline_mean = high


@lean
def _count_play(ledger: Ledger, mean: float) -> None:
    ledger.plays += 1
    ledger.forgone, ledger.forgone_rest = add(ledger.forgone, ledger.forgone_rest, mean)


@lean
def _count_reward(ledger: Ledger, reward: float) -> None:
    expected = (0.5 + ledger.reward) / (1.0 + ledger.rewards)
    ledger.variation += (reward - expected) * (reward - expected)
    ledger.rewards += 1
    ledger.reward, ledger.reward_rest = add(ledger.reward, ledger.reward_rest, reward)


@lean
def record_decision(
    ledger: Ledger, low: float, high: float, baseline: bool, promise: float
) -> None:
    """Count a decided round; promise = max(lower, 0) of its action as of now."""
    _count_round(ledger, low, high)
    if baseline:
        ledger.spared, ledger.spared_rest = add(ledger.spared, ledger.spared_rest, low)
        return
    _count_play(ledger, high)
    ledger.pending += 1
    ledger.promised, ledger.promised_rest = add(ledger.promised, ledger.promised_rest, promise)


@lean
def _end_pending(ledger: Ledger, promise: float) -> None:
    ledger.pending -= 1
    ledger.promised, ledger.promised_rest = add(ledger.promised, ledger.promised_rest, -promise)
    if ledger.pending == 0:
        ledger.promised = 0.0
        ledger.promised_rest = 0.0


@lean
def record_reward(ledger: Ledger, promise: float, reward: float) -> None:
    """Replace a pending round's promise by its reward."""
    _end_pending(ledger, promise)
    _count_reward(ledger, reward)


@lean
def record_waived(ledger: Ledger, promise: float) -> None:
    """Close a pending round without a reward: its promise stays for good."""
    _end_pending(ledger, promise)
    ledger.waived, ledger.waived_rest = add(ledger.waived, ledger.waived_rest, promise)


@lean
def record_row(ledger: Ledger, promise: float, reward: float) -> None:
    """Replace a pending round's promise by a reward that is summed and not learned from.

    A missing reward counts as the lowest, 0: its mean is then no more than the true one, so that
    the bound on the summed means still holds.
    """
    record_reward(ledger, promise, reward)
    ledger.missed += 1


@lean
def record_choice(ledger: Ledger, promise: float) -> None:
    """Drop a pending round's promise: the caller chose the baseline, and the round stays in S."""
    _end_pending(ledger, promise)
    ledger.pending += 1


@lean
def record_fallback(ledger: Ledger, promise: float, low: float, high: float) -> None:
    """Turn a pending round of S into one of S_b, with the interval for mu_b it was decided on."""
    _end_pending(ledger, promise)
    ledger.plays -= 1
    ledger.forgone, ledger.forgone_rest = add(ledger.forgone, ledger.forgone_rest, -high)
    ledger.spared, ledger.spared_rest = add(ledger.spared, ledger.spared_rest, low)


@lean
def record_lesson(ledger: Ledger, reward: float) -> None:
    """Take the reward of a baseline round that is learned from; it is no part of sum_S r."""
    ledger.waiting -= 1
    ledger.lessons += 1
    ledger.lesson, ledger.lesson_rest = add(ledger.lesson, ledger.lesson_rest, reward)


@lean
def record_earned(ledger: Ledger, held: bool, promise: float, reward: float) -> None:
    """Take a round's reward: held, it is a baseline round that is learned from."""
    if held:
        record_lesson(ledger, reward)
    else:
        record_reward(ledger, promise, reward)


@lean
def record_missed(ledger: Ledger) -> None:
    """Close a baseline round whose reward never came: the ledger has its mean already."""
    ledger.waiting -= 1


@lean
def record_plays(ledger: Ledger, rounds: int, reward: float) -> None:
    """Count rounds of S whose rewards are known at once, while no other round waits for one.

    For a baseline mean that never changed: sums of it are counts times mean. The same as
    `record_decision` and then `record_reward` for each, where partial sums of the rewards are
    exact, as for one round or for whole numbers: the promise between them leaves no trace.
    """
    ledger.rounds += rounds
    ledger.plays += rounds
    ledger.forgone = ledger.plays * ledger.baseline_mean
    ledger.forgone_rest = 0.0
    ledger.rewards += rounds
    ledger.reward, ledger.reward_rest = add(ledger.reward, ledger.reward_rest, reward)


@lean
def record_holds(ledger: Ledger, rounds: int) -> None:
    """Count rounds in which the baseline was played, for a baseline mean that never changed."""
    ledger.rounds += rounds
    ledger.spared = (ledger.rounds - ledger.plays) * ledger.baseline_mean
    ledger.spared_rest = 0.0
