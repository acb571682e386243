"""Word that an action was played, apart from its reward: small cases worked out by hand.

CUCB2 and its kin over two arms, of which arm 1 is the baseline with mu_b = 1/2; alpha = 1/2. Round
1 is the baseline's (need 1/2 (1 - 1/2) > 0), round 2 arm 0's (1/2 (1 - 1) = 0).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
import pytest

import handrail
from handrail import Decision, InputError, Policy
from support import FEATURES, make, state

# A window without a default, and a default without a window, are used here knowingly; what warns of
# them is tested in test_late.py.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(window|default_reward) without:handrail.errors.NoGuaranteeWarning"
)


REASONS: Final[tuple[Literal["no-answer", "choice"], ...]] = ("no-answer", "choice")


def two(name: str = "CUCB2", **more: Any) -> Policy:
    given: dict[str, Any] = {"arms": 2, "baseline": 1, "baseline_mean": 0.5, "alpha": 0.5}
    given |= {"delta": 0.1, "reward_range": (0.0, 1.0), "confirm": True, **more}
    return handrail.make_policy(
        name, **{key: value for key, value in given.items() if value is not None}
    )


def second(policy: Policy) -> Decision:
    """The decision of round 2, arm 0's."""
    policy.decide()
    decision = policy.decide()
    assert (decision.round, decision.action) == (2, 0)
    return decision


def ledger(policy: Policy) -> dict[str, float]:
    row = policy._state.model.ledger[0]
    return {name: row[name].item() for name in row.dtype.names}


def summed(policy: Policy) -> tuple[float, float]:
    """The count for psi, and the sum of rewards of S."""
    now = ledger(policy)
    return now["rewards"], now["reward"]


def taught(policy: Policy) -> tuple[list[int], list[float]]:
    """The estimator's rows and sums of both arms."""
    arrays = policy._state.model.arrays()
    return arrays["counts"].tolist(), arrays["sums"].tolist()


def plays(policy: Policy) -> list[int]:
    """N_k of both arms."""
    found: list[int] = policy._state.model.arrays()["plays"].tolist()
    return found


def refused(call: Callable[..., Any], *given: Any, policy: Policy, **more: Any) -> InputError:
    """An error that changed nothing."""
    before = state(policy)
    with pytest.raises(InputError) as error:
        call(*given, **more)
    assert state(policy) == before
    return error.value


# ---------------------------------------------------------------- without a window


def test_word_then_reward() -> None:
    """It settles when both are there; round 3: s = 1, need 1/2 (2 - 3/2), so the baseline."""
    policy = two(default_reward=0.25)
    decision = second(policy)
    assert policy.played(decision) == policy.played(decision.id) == "played"
    assert (summed(policy), plays(policy), policy.pending) == ((0, 0.0), [0, 0], 1)
    assert policy.learn(decision, 1.0) == "learned"
    assert (summed(policy), plays(policy), policy.pending) == ((1, 1.0), [1, 0], 0)
    assert taught(policy) == ([1, 0], [1.0, 0.0])
    assert refused(policy.played, decision, policy=policy).field == "decision"
    assert refused(policy.learn, decision, 1.0, policy=policy).field == "decision"


def test_reward_then_word() -> None:
    policy = two(default_reward=0.25)
    decision = second(policy)
    assert policy.learn(decision, 1.0) == "waiting"
    assert (summed(policy), taught(policy)) == ((0, 0.0), ([0, 0], [0.0, 0.0]))
    assert policy.pending == 1
    assert refused(policy.learn, decision, 0.0, policy=policy).field == "decision"
    assert refused(policy.fall_back, decision, policy=policy).field == "decision"
    assert refused(policy.fall_back, decision, because="choice", policy=policy).field == "decision"
    assert policy.played(decision) == "played"
    assert (summed(policy), plays(policy), policy.pending) == ((1, 1.0), [1, 0], 0)
    assert taught(policy) == ([1, 0], [1.0, 0.0])


@pytest.mark.parametrize("because", REASONS)
@pytest.mark.parametrize("window", [None, 4])
def test_a_fallback_takes_word_back(
    window: int | None, because: Literal["no-answer", "choice"]
) -> None:
    """Word that came first changes nothing: clients give it by themselves, and word after is none.

    A baseline round stays one whatever is said of it.
    """
    ends = []
    for said in (True, False):
        policy = two(default_reward=0.25, window=window, alpha=0.9)
        decision = second(policy)
        if said:
            assert policy.played(decision) == "played"
        assert policy.fall_back(decision, because) == (
            "baseline" if because == "no-answer" else "choice"
        )
        if because == "choice":
            assert refused(policy.played, decision, policy=policy).field == "decision"
            policy.learn(decision, 1.0)
        for _ in range(4):
            policy.decide(hold=True)
        ends.append((ledger(policy), taught(policy), plays(policy)))
    assert ends[0] == ends[1]
    policy = two(default_reward=0.25, window=window, baseline_mean="learned")
    decision = policy.decide(hold=True)
    assert policy.played(decision) == "played"
    assert policy.fall_back(decision, because) == "ignored"


def test_closed_with_and_without_word() -> None:
    """Said: the default. Not said: nothing, though it is owed for; a reward that waits is gone."""
    policy = two(default_reward=0.25, alpha=0.9)
    said, silent, rewarded = (second(policy), policy.decide(), policy.decide())
    assert {said.action, silent.action, rewarded.action} == {0}
    policy.played(said)
    policy.learn(rewarded, 1.0)
    assert policy.close(said) == "learned"
    assert policy.close(silent) == policy.close(rewarded) == "lost"
    assert (summed(policy), plays(policy)) == ((1, 0.25), [1, 0])
    assert taught(policy) == ([1, 0], [0.25, 0.0])
    now = ledger(policy)
    assert (now["plays"], now["pending"], policy.pending) == (3, 0, 0)
    assert (now["promised"], now["waived"]) == (0.0, 0.0)
    for gone in (said, silent, rewarded):
        assert refused(policy.played, gone, policy=policy).field == "decision"
        assert refused(policy.fall_back, gone, policy=policy).field == "decision"


def test_nothing_is_credited_until_a_round_settles() -> None:
    """mu = (.8, .5), the past known: margins are .8 (settled plays) - (s + 1 - t/2)/2.

    Round 1 is the baseline's, which is worth (t/2 - s)/2; round 2 has a margin of 0. While it
    waits, round 3 is the baseline's with 1/4; settled, it is .8 - 1/4. With s = 2 at t = 4 one that
    waits or is lost leaves .8 - 1/2.
    """
    policy = two("CUCB-Or", true_means=[0.8, 0.5], default_reward=0.0)
    assert policy.decide().event == "baseline"
    first = policy.decide()
    assert first.margin == pytest.approx(0.0)
    policy.played(first)
    assert policy.explain().margin == pytest.approx(0.25)
    policy.learn(first, 0.0)
    other = policy.decide()
    assert other.margin == pytest.approx(0.55)
    assert policy.explain().margin == pytest.approx(0.3)
    policy.close(other)
    assert policy.explain().margin == pytest.approx(0.3)


# ---------------------------------------------------------------- with a window


def test_a_window_closes_in_order() -> None:
    """Rounds 2 to 6 settle at rounds 6 to 10: default, reward, nothing, nothing, default."""
    policy = two(window=4, default_reward=0.25, alpha=0.9, baseline_mean=0.1)
    policy.decide(hold=True)
    rounds = [policy.decide() for _ in range(4)]
    assert {each.action for each in rounds} == {0}
    assert policy.learn(rounds[2], 1.0) == "waiting"
    assert policy.learn(rounds[1], 1.0) == "waiting"
    assert policy.played(rounds[1]) == policy.played(rounds[0]) == "played"
    rounds.append(policy.decide())  # round 6 closes round 2
    assert summed(policy) == (1, 0.25)
    assert policy.played(rounds[0]) == "late"
    policy.decide(hold=True)
    assert summed(policy) == (2, 1.25)
    assert (policy.played(rounds[4]), policy.close(rounds[4])) == ("played", "closed")
    policy.decide(hold=True)
    assert summed(policy) == (2, 1.25)  # round 4 was not said, though it has a reward
    assert policy.played(rounds[2]) == policy.learn(rounds[2], 1.0) == "late"
    policy.decide(hold=True)
    assert summed(policy) == (2, 1.25)
    policy.decide(hold=True)
    assert (summed(policy), plays(policy)) == ((3, 1.5), [3, 0])
    assert (taught(policy), policy.pending) == (([3, 0], [1.5, 0.0]), 0)
    assert ledger(policy)["plays"] == 5


@pytest.mark.parametrize("window", [None, 3])
def test_a_learned_mean_is_taught_by_what_was_said(window: int | None) -> None:
    """Of four baseline rounds, two of them with rewards and two said, one has both.

    The other that was said teaches the default; S_b has all four either way.
    """
    policy = two(baseline_mean="learned", window=window, default_reward=0.25)
    rounds = [policy.decide(hold=True) for _ in range(4)] if window is None else []
    for number in range(4):
        decision = rounds[number] if rounds else policy.decide(hold=True)
        assert decision.awaits_reward
        if number < 2:
            assert policy.played(decision) == "played"
        if number in (1, 2):
            known = policy.learn(decision, 1.0)
            assert known == ("learned" if number == 1 and window is None else "waiting")
        if window is None and number != 1:
            assert policy.close(decision) == ("learned" if number == 0 else "lost")
    for _ in range(3 if window else 0):
        policy.decide(hold=True)
    assert taught(policy) == ([0, 2], [0.0, 1.25])
    now = ledger(policy)
    assert (now["lessons"], now["plays"]) == (2, 0)
    assert now["rounds"] == (7 if window else 4)


def test_a_guard_that_learns() -> None:
    policy = make(
        "GUARD", "guard", baseline_mean="learned", confirm=True, window=2, default_reward=0.0
    )
    for said in (True, False, True):
        decision = policy.decide(proposal="new")
        assert decision.event == "baseline"
        if said:
            assert policy.played(decision) == "played"
            policy.learn(decision, 1.0)
    policy.decide(hold=True)
    policy.decide(hold=True)
    now = ledger(policy)
    assert (now["lessons"], now["lesson"], policy.pending) == (2, 2.0, 2)


# ---------------------------------------------------------------- who needs no word


def test_who_is_not_asked() -> None:
    """A reward confirms, or decisions count as carried out."""
    for changes in (
        {},
        {"window": 3},
        {"confirm": False, "default_reward": 0.25},
        {"confirm": "by-reward", "default_reward": 0.0},
    ):
        policy = two(**changes)
        decision = second(policy)
        before = state(policy)
        assert policy.played(decision) == "ignored"
        assert state(policy) == before
        assert policy.learn(decision, 1.0) == ("waiting" if "window" in changes else "learned")


def test_baseline_rounds_are_not_asked_of_unless_they_teach() -> None:
    for lessons, answer in ((False, "ignored"), ("mean", "ignored"), (True, "played")):
        policy = two(default_reward=0.25, learn_baseline=lessons)
        assert policy.played(policy.decide()) == answer


def test_by_reward() -> None:
    """A reward confirms; silence is the lowest reward, played or not."""
    policy = two(confirm="by-reward", default_reward=0.0, window=2, alpha=0.9)
    policy.decide(hold=True)
    one = policy.decide()
    policy.learn(one, 1.0)
    other = policy.decide()
    assert (one.action, other.action, summed(policy)) == (0, 0, (0, 0.0))
    policy.decide(hold=True)
    assert (summed(policy), plays(policy)) == ((1, 1.0), [1, 0])
    policy.decide(hold=True)
    assert (summed(policy), plays(policy)) == ((2, 1.0), [2, 0])
    assert taught(policy) == ([2, 0], [1.0, 0.0])
    assert policy.played(other) in ("ignored", "late")


@pytest.mark.parametrize(
    ("name", "setting", "changes"),
    [
        ("CUCB2", "arms", {"default_reward": None}),
        ("CUCB2", "arms", {"default_reward": 0.25}),
        ("CUCB2", "arms", {"default_reward": 1.0}),
        ("CUCB2", "arms", {"baseline_mean": "learned"}),
        ("CUCB2", "arms", {"learn_baseline": True}),
        ("GUARD", "guard", {"baseline_mean": "learned"}),
        ("GUARD", "guard", {"default_reward": 0.5}),
        ("CLUCB2", "features", {}),
        ("CLUCB2", "dim", {}),
        ("LinHANDRAIL", "dim", {}),
        ("LinUCB", "features", {}),
        ("CUCB-Or", "arms", {}),
        ("HANDRAIL-Or", "arms", {}),
    ],
)
def test_who_cannot_do_without_word(name: str, setting: str, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        make(name, setting, **{"confirm": "by-reward", "default_reward": 0.0, **changes})
    assert error.value.field == "confirm"
    assert "Policy" not in error.value.remedy  # over HTTP nobody has one


def test_who_can() -> None:
    """The lowest reward is that of the range; the mean is a number, a pair, or told every round."""
    told: dict[str, Any] = {"confirm": "by-reward", "default_reward": 0.0}
    for policy in (
        make("CUCB2", "arms", **told),
        make("HANDRAIL", "arms", **told, baseline_mean=(0.4, 0.5), window=3),
        make("GUARD", "guard", **told, baseline_mean=None),
        make("GUARD", "guard", confirm="by-reward", reward_range=(-2.0, 1.0), default_reward=-2.0),
    ):
        again = Policy.from_bytes("again", policy.to_bytes())
        assert again.parameters["confirm"] == "by-reward"


# ---------------------------------------------------------------- missing, and no default


@pytest.mark.parametrize("window", [None, 1])
@pytest.mark.parametrize("confirm", [False, True])
def test_missing_is_the_lowest_reward_of_the_ledger(confirm: bool, window: int | None) -> None:
    """In units of -10 to 10: one more reward summed, which is -10; nothing learned; out of N_k."""
    policy = two(confirm=confirm, window=window, reward_range=(-10.0, 10.0), baseline_mean=0.0)
    decision = second(policy)
    assert plays(policy) == ([0, 0] if confirm else [1, 0])
    if window is None:
        assert policy.close(decision) == "waived"
    else:
        policy.decide(hold=True)
    assert (summed(policy), plays(policy)) == ((1, 0.0), [0, 0])
    assert taught(policy) == ([0, 0], [0.0, 0.0])
    now = ledger(policy)
    assert (now["plays"], now["pending"], now["promised"], now["waived"]) == (1, 0, 0.0, 0.0)


def test_those_who_know_the_past_keep_it() -> None:
    """mu = (.8, .5), confirm=False: 0.8 + 0.8 - 1/2 at t = 2, whatever came of round 1."""
    policy = two("CUCB-Or", true_means=[0.8, 0.5], confirm=False)
    first = policy.decide()
    assert policy.explain().margin == pytest.approx(1.1)
    assert policy.close(first) == "waived"
    assert policy.explain().margin == pytest.approx(1.1)


@pytest.mark.parametrize("setting", ["features", "dim"])
def test_features_of_what_is_missing_leave_the_sum(setting: str) -> None:
    """x = the sum of phi over S, without the round that is closed."""
    policy = make("CLUCB-S", setting, alpha=0.9, baseline_mean=0.05 if setting != "dim" else None)
    told: dict[str, Any] = {}
    if setting == "dim":
        told = {"features": FEATURES, "baseline": 1, "baseline_mean": 0.05}
    policy.decide(**told, hold=True)
    decisions = [policy.decide(**told) for _ in range(2)]
    assert 1 not in {each.action for each in decisions}
    usual = make("CLUCB-S", setting, alpha=0.9, baseline_mean=0.05 if setting != "dim" else None)
    usual.decide(**told, hold=True)
    usual.decide(**told)
    assert policy.close(decisions[1]) == "waived"
    mine, theirs = policy._state.model.arrays(), usual._state.model.arrays()
    for name in ("plays", "total", "reach"):
        if name in mine:
            assert mine[name] == pytest.approx(theirs[name])
    # One round more is owed for: alpha mu_b more, less mu_b.
    after, before = (each.explain(**told, hold=True).margin for each in (policy, usual))
    assert before is not None
    assert after == pytest.approx(before + 0.9 * 0.05 - 0.05)


def test_a_baseline_round_without_a_reward_teaches_nothing() -> None:
    policy = two(baseline_mean="learned")
    assert policy.close(policy.decide()) == "waived"
    assert taught(policy) == ([0, 0], [0.0, 0.0])
    assert summed(policy) == (0, 0.0)


# ---------------------------------------------------------------- fallbacks, and why


@pytest.mark.parametrize("default", [None, 0.25])
def test_a_choice_stays_and_counts_what_it_earned(default: float | None) -> None:
    """Ledger rows of 1 and 0 and no other; two rounds are owed for. Nothing need be said."""
    policy = two(default_reward=default, alpha=0.9)
    one, other = second(policy), policy.decide()
    assert other.action == 0
    policy.played(other)
    assert policy.fall_back(one, because="choice") == "choice"
    assert policy.fall_back(other.id, because="choice") == "choice"
    assert policy.fall_back(one, because="choice") == "choice"
    for again in (one, other):
        assert refused(policy.fall_back, again, policy=policy).field == "because"
        if default is not None:
            assert refused(policy.played, again, policy=policy).field == "decision"
    assert (policy.pending, summed(policy)) == (2, (0, 0.0))
    assert policy.learn(one, 1.0) == "learned"
    assert summed(policy) == (1, 1.0)
    assert policy.close(other) == "waived"
    assert (summed(policy), plays(policy)) == ((2, 1.0), [0, 0])
    assert taught(policy) == ([0, 0], [0.0, 0.0])
    assert (ledger(policy)["plays"], policy.pending) == (2, 0)


def test_a_choice_where_the_mean_is_learned() -> None:
    """Neither arm's estimate takes the reward, though the baseline earned it."""
    policy = two(baseline_mean="learned", window=3, default_reward=0.5, alpha=0.9)
    for _ in range(3):
        policy.decide(hold=True)
    decision = policy.decide()
    rewarded = policy.decide()
    assert (decision.action, rewarded.action) == (0, 0)
    assert policy.fall_back(decision, because="choice") == "choice"
    assert policy.fall_back(rewarded, because="choice") == "choice"
    assert policy.learn(rewarded, 1.0) == "waiting"
    assert policy.fall_back(rewarded, because="choice") == "choice"
    for _ in range(3):
        policy.decide(hold=True)
    assert (summed(policy), taught(policy)) == ((2, 1.0), ([0, 0], [0.0, 0.0]))
    assert policy.fall_back(rewarded, because="choice") == "late"


def test_no_answer_teaches_nothing() -> None:
    """Where baseline rounds teach, they do if said to be played; of what fell back nobody says."""
    policy = two(default_reward=0.25, learn_baseline=True, alpha=0.9)
    one, other = second(policy), policy.decide()
    assert other.action == 0
    assert policy.fall_back(one) == policy.fall_back(other, because="no-answer") == "baseline"
    for act in (policy.fall_back, policy.played, policy.close):
        assert refused(act, one, policy=policy).field == "decision"
    assert refused(policy.learn, one, 1.0, policy=policy).field == "decision"
    assert (taught(policy), summed(policy)) == (([0, 0], [0.0, 0.0]), (0, 0.0))
    assert (ledger(policy)["plays"], ledger(policy)["waiting"]) == (0, 1)  # round 1 still waits


def test_where_every_round_tells_its_mean_a_choice_is_a_baseline_round() -> None:
    policy = make("GUARD", "guard", baseline_mean=None, confirm=True, alpha=0.9)
    policy.decide(hold=True, baseline_mean=0.5)
    decision = policy.decide(proposal="new", baseline_mean=0.5)
    assert decision.action == "new"
    assert policy.fall_back(decision, because="choice") == "baseline"
    assert (ledger(policy)["plays"], ledger(policy)["spared"]) == (0, 1.0)
    for name, setting in (("UCB", "arms"), ("LinUCB", "features")):
        policy = make(name, setting, confirm=True)
        decision = policy.decide()
        assert decision.action != 1
        assert policy.fall_back(decision, because="choice") == "baseline"
        assert policy.learn(decision, 1.0) == "learned"


def test_what_fall_back_answers_and_refuses() -> None:
    policy = two(window=3, default_reward=0.25, alpha=0.9, baseline_mean=0.1)
    own = policy.decide(hold=True)
    decision = policy.decide()
    policy.played(decision)
    wrong: list[Any] = ["because", None, 1, True, "Choice"]
    for because in wrong:
        assert (
            refused(policy.fall_back, decision, because=because, policy=policy).field == "because"
        )
    for because in REASONS:
        assert policy.fall_back(own, because=because) == "ignored"
    policy.learn(decision, 1.0)
    for because in REASONS:
        error = refused(policy.fall_back, decision, because=because, policy=policy)
        assert error.field == "decision"
    for _ in range(3):
        policy.decide(hold=True)
    for because in REASONS:
        assert policy.fall_back(decision, because=because) == "late"
    plain = two(confirm=False)
    lost = second(plain)
    assert refused(plain.fall_back, lost, because="choice", policy=plain).field == "confirm"


# ---------------------------------------------------------------- bad input, files and copies


def test_whose_word_it_is_not() -> None:
    policy, other = (two(default_reward=0.25, alpha=0.9) for _ in range(2))
    second(policy)
    bad: list[Any] = [second(other), policy.explain(), "nonsense", None, 7, 0.5, []]
    for each in bad:
        assert refused(policy.played, each, policy=policy).field == "decision"
    twin = copy.copy(policy)
    theirs = twin.decide()
    assert theirs.action == policy.decide().action == 0
    assert refused(policy.played, theirs, policy=policy).field == "decision"


def _waiting(setting: str, **more: Any) -> tuple[Policy, list[Decision]]:
    """Rounds that wait: plain, said, rewarded, chosen, chosen and rewarded, fallen."""
    names = {"arms": "HANDRAIL", "features": "CLUCB2", "dim": "CLUCB2", "guard": "GUARD"}
    if setting != "guard":
        more.setdefault("learn_baseline", True)
    else:
        more.setdefault("baseline_mean", "learned")
    if setting in ("arms", "features"):
        more.setdefault("baseline_mean", 0.05)
    policy = make(names[setting], setting, confirm=True, alpha=0.95, default_reward=0.25, **more)
    told = _asked(setting)
    rounds = [policy.decide(**told, hold=True) for _ in range(8)]
    rounds += [policy.decide(**told) for _ in range(6)]
    assert all(each.event != "baseline" for each in rounds[8:])
    for each in (rounds[0], rounds[1], rounds[9], rounds[13]):
        assert policy.played(each) == "played"
    for each in (rounds[1], rounds[2], rounds[10]):
        policy.learn(each, 1.0)
    stays = "choice" if setting != "dim" else "baseline"
    assert policy.fall_back(rounds[11], because="choice") == stays
    assert policy.fall_back(rounds[12], because="choice") == stays
    if "window" in more and stays == "choice":
        policy.learn(rounds[12], 0.5)
    assert policy.fall_back(rounds[13]) == "baseline"
    return policy, rounds


def _asked(setting: str) -> dict[str, Any]:
    if setting == "dim":
        return {"features": FEATURES, "baseline": 1, "baseline_mean": 0.05}
    return {"proposal": "new"} if setting == "guard" else {}


@pytest.mark.parametrize("window", [None, 20])
@pytest.mark.parametrize("setting", ["arms", "features", "dim", "guard"])
def test_saved_and_copied_while_rounds_wait(setting: str, window: int | None) -> None:
    """The same bytes, the same answers, and the same state after every round is settled."""
    more: dict[str, Any] = {} if window is None else {"window": window}
    policy, rounds = _waiting(setting, **more)
    others = [Policy.from_bytes("saved", policy.to_bytes()), copy.copy(policy)]
    for other in others:
        assert other.to_bytes() == policy.to_bytes()
    all_three = [policy, *others]
    for decision in rounds:
        answers: list[str] = []
        for each in all_three:
            try:
                answers.append(each.played(decision))
            except InputError as error:
                answers.append(error.field + error.reason)
            if each.waits(decision.identity):  # type: ignore[arg-type]
                answers.append(each.close(decision))
        assert answers[: len(answers) // 3] * 3 == answers
    for _ in range(window or 0):
        for each in all_three:
            each.decide(**_asked(setting), hold=True)
    assert policy.pending == (0 if window is None else window)
    for other in others:  # rounds that wait now carry the mark of the copy that decided them
        assert ledger(other) == ledger(policy)
        mine, theirs = policy._state.model.arrays(), other._state.model.arrays()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
    assert state(Policy.from_bytes("again", policy.to_bytes())) == state(policy)
