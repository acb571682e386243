"""The ledger: sums that stay right, and one need however the rounds were counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.conservative.choice import would_be_safe
from handrail.conservative.ledger import (
    add,
    need,
    record_decision,
    record_holds,
    record_plays,
    record_reward,
    record_row,
    record_waived,
)
from handrail.conservative.past import (
    ARM_SUMS,
    LARGER,
    MARTINGALE,
    ORACLE,
    martingale,
    past_and_now,
    past_of_arms,
    unconfirmed,
)
from handrail.conservative.schedule import (
    CHECKPOINTS,
    EVERY_ROUND,
    arrive,
    next_checkpoint,
    slack,
)
from handrail.records import LEDGER, RULES, new_record


@given(st.lists(st.floats(-1e6, 1e6), max_size=200))
def test_running_sums_keep_their_rounding_error(values: list[float]) -> None:
    total, rest = 0.0, 0.0
    for value in values:
        total, rest = add(total, rest, value)
    assert total + rest == pytest.approx(math.fsum(values), rel=1e-15, abs=1e-15)


def test_a_million_tenths() -> None:
    total, rest, plain = 0.0, 0.0, 0.0
    for _ in range(10**6):
        total, rest = add(total, rest, 0.1)
        plain += 0.1
    assert total + rest == math.fsum([0.1] * 10**6)
    assert plain != math.fsum([0.1] * 10**6)


@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=50),
    st.floats(0.0, 1.0),
    st.floats(0.01, 0.99),
)
def test_need_is_what_the_definition_says(
    rounds: list[tuple[float, bool]], mean: float, alpha: float
) -> None:
    """(1 - alpha) sum_{i <= t} mu_b(i) - sum_{S_b} mu_b(i)."""
    rules, ledger = new_record(RULES, alpha=alpha), new_record(LEDGER)
    for each, baseline in rounds:
        record_decision(ledger[0], each, each, baseline, 0.0)
    played = math.fsum([each for each, baseline in rounds if baseline])
    everything = math.fsum([each for each, _ in rounds] + [mean])
    wanted = (1.0 - alpha) * everything - played
    assert need(rules[0], ledger[0], mean, mean) == pytest.approx(wanted, abs=1e-12)


def test_need_with_one_mean_is_exact_at_the_round_where_a_first_play_is_paid_for() -> None:
    """alpha t = 1 at t = 20: margin 0 is safe, and no rounding may hide it."""
    for mean in (0.41, 0.5, 0.73, 1.0):
        rules, ledger = new_record(RULES, alpha=0.05), new_record(LEDGER)
        for _ in range(19):
            assert need(rules[0], ledger[0], mean, mean) > 0.0
            record_decision(ledger[0], mean, mean, True, 0.0)
        assert need(rules[0], ledger[0], mean, mean) == 0.0


def test_promises_come_and_go_without_a_trace() -> None:
    ledger = new_record(LEDGER)
    rng = np.random.default_rng(3)
    promises = rng.uniform(0.0, 1.0, 1000)
    for promise in promises:
        record_decision(ledger[0], 0.5, 0.5, False, promise)
    row = ledger[0]
    assert row["promised"] + row["promised_rest"] == pytest.approx(math.fsum(promises), rel=1e-15)
    for promise in rng.permutation(promises)[:-1]:
        record_reward(ledger[0], promise, 1.0)
    assert (row["pending"], row["rewards"], row["reward"]) == (1, 999, 999.0)
    record_waived(ledger[0], 0.25)
    assert (row["pending"], row["promised"], row["promised_rest"]) == (0, 0.0, 0.0)
    assert row["waived"] + row["waived_rest"] == 0.25


def test_a_reward_that_is_missing_is_summed_and_counted_as_no_lesson() -> None:
    ledger = new_record(LEDGER)[0]
    record_decision(ledger, 0.5, 0.5, False, 0.25)
    record_row(ledger, 0.25, 0.0)
    assert (ledger.pending, ledger.promised, ledger.rewards, ledger.missed) == (0, 0.0, 1, 1)


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_the_next_checkpoint(now: int, every: int) -> None:
    rules = new_record(RULES, schedule=CHECKPOINTS, checkpoint_every=every)
    checkpoint = next_checkpoint(rules[0], now)
    assert checkpoint % every == 0
    assert now <= checkpoint < now + every


def test_slack_by_hand() -> None:
    """T = 4, alpha = 0.1, mu_l = 0.5: 0.15, 0.1, 0.05, 0 and again."""
    rules = new_record(
        RULES, schedule=CHECKPOINTS, checkpoint_every=4, alpha=0.1, baseline_lower=0.5
    )
    values = [slack(rules[0], now) for now in range(1, 9)]
    assert values == pytest.approx([0.15, 0.1, 0.05, 0.0] * 2)
    rules["schedule"] = EVERY_ROUND
    assert [slack(rules[0], now) for now in range(1, 9)] == [0.0] * 8


@given(
    mean=st.floats(0.0, 1.0),
    rewards=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50),
    held=st.integers(0, 20),
)
def test_rounds_counted_at_once(mean: float, rewards: list[float], held: int) -> None:
    """Plays and holds with one baseline mean: like decisions and rewards one after the other."""
    one, two = new_record(LEDGER), new_record(LEDGER)
    record_decision(one[0], mean, mean, True, 0.0)
    record_decision(two[0], mean, mean, True, 0.0)
    for reward in rewards:
        record_decision(one[0], mean, mean, False, 0.25)
        record_reward(one[0], 0.25, reward)
        record_plays(two[0], 1, reward)
    for _ in range(held):
        record_decision(one[0], mean, mean, True, 0.0)
    record_holds(two[0], held)
    whole = [float(round(reward)) for reward in rewards]
    for reward in whole:
        record_decision(one[0], mean, mean, False, 0.25)
        record_reward(one[0], 0.25, reward)
    record_plays(two[0], len(whole), sum(whole))
    for field in ("rounds", "plays", "rewards", "pending", "promised", "constant"):
        assert one[field][0] == two[field][0]
    for field in ("reward", "forgone", "spared"):
        sums = [float(each[field][0] + each[f"{field}_rest"][0]) for each in (one, two)]
        assert sums[0] == pytest.approx(sums[1], rel=1e-15, abs=1e-15)


def test_the_rounding_error_of_every_sum_is_part_of_it() -> None:
    """Kept apart while sums grow; with errors far larger than any that rounding makes."""
    rules = new_record(RULES, alpha=0.5, confirm=1, clip_zero=0)[0]
    ledger = new_record(
        LEDGER,
        **{"reward": 8.0, "reward_rest": 0.5, "promised": 2.0, "promised_rest": 0.25},
        **{"waived": 1.0, "waived_rest": 0.125, "rounds": 3, "plays": 1},
        **{"forgone": 0.5, "forgone_rest": 0.0625, "spared": 1.0, "spared_rest": 0.03125},
    )[0]
    assert martingale(rules, ledger, 3.0) == 8.5 - 3.0 + 2.25 + 1.125
    assert unconfirmed(rules, ledger) == 2.25 + 1.125
    assert need(rules, ledger, 0.75, 0.75) == 0.5 * (0.5625 + 0.75) - 0.5 * 1.03125
    rules.confirm = 0
    assert unconfirmed(rules, ledger) == 0.0


def test_what_the_fast_simulator_asks_is_the_sign_of_the_margin() -> None:
    """past_and_now + alpha mu_l (c - t) - mu_b (s + 1 - alpha t), with T = 10."""
    for rounds, plays in ((0, 0), (7, 2), (9, 4), (10, 4), (18, 9)):
        rules = new_record(
            RULES, alpha=0.25, baseline_lower=0.5, schedule=CHECKPOINTS, checkpoint_every=10
        )[0]
        ledger = new_record(LEDGER, rounds=rounds, plays=plays, constant=1, baseline_mean=0.5)[0]
        now = rounds + 1
        checkpoint = 10 * math.ceil(now / 10)
        bar = 0.5 * (plays + 1 - 0.25 * now) - 0.25 * 0.5 * (checkpoint - now)
        assert would_be_safe(rules, ledger, bar, 0.5)
        assert would_be_safe(rules, ledger, bar + 0.125, 0.5)
        assert not would_be_safe(rules, ledger, bar - 0.125, 0.5)


def test_checkpoints_are_passed_in_the_round_after_them() -> None:
    """Checkpoints 3 and 8; after k of them the next is known not to come before assured[k]."""
    checkpoints, assured = np.array([3, 8]), np.array([2, 7, 0])
    ledger = new_record(LEDGER)[0]
    seen = []
    for rounds in range(11):
        ledger.rounds = rounds
        arrive(ledger, checkpoints, assured)
        seen.append((int(ledger.checkpoints), int(ledger.checkpoint)))
    assert seen == [(0, 2)] * 3 + [(1, 7)] * 5 + [(2, 0)] * 3


def test_what_an_action_adds_in_the_simulator() -> None:
    """Its lower bound, but not below 0; for an oracle its mean."""
    lower, truth = np.array([0.25, -1.0]), np.array([0.5, 0.75])
    for past, wanted in ((MARTINGALE, (2.25, 2.0)), (ORACLE, (2.5, 2.75))):
        rules = new_record(RULES, past=past)[0]
        found = tuple(past_and_now(rules, 2.0, lower, truth, action) for action in (0, 1))
        assert found == wanted


def test_pasts_of_arms_by_hand() -> None:
    """Rounds that are not confirmed count what they were promised, beside the arms' sums."""
    ledger = new_record(LEDGER, promised=0.5, waived=0.25, reward=0.125)[0]
    plays, lower, truth = np.array([2, 0, 1]), np.array([0.25, 9.0, 0.5]), np.array([0.5, 9.0, 1.0])
    wanted = {ARM_SUMS: 1.75, MARTINGALE: 0.875, ORACLE: 2.75, LARGER: 1.75}
    for past, total in wanted.items():
        rules = new_record(RULES, past=past, confirm=1)[0]
        assert past_of_arms(rules, ledger, 0.0, plays, lower, truth) == total
