"""Copies share nothing; a step that was cut in half stops the policy, not its last save."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import Policy
from support import SETTINGS, make, play, state


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_copies_share_no_memory_that_is_written(name: str, setting: str, duplicate: Any) -> None:
    policy = make(name, setting)
    play(policy, 50)
    twin = duplicate(policy)
    assert state(twin) == state(policy)
    for field, value in vars(policy._state.model).items():
        if isinstance(value, np.ndarray) and field not in ("rules", "features"):
            assert not np.shares_memory(value, vars(twin._state.model)[field]), field
    before = state(policy)
    play(twin, 50)
    assert state(policy) == before


def test_copies_decide_at_the_same_time_without_disturbing_each_other() -> None:
    """Compiled code runs in parallel: scratch memory in common would mix two policies up."""
    start = make("CUCB2", "arms", arms=300)
    alone = [[d.margin for d in play(copy.deepcopy(start), 1500, seed)] for seed in (1, 2)]
    found: dict[int, list[float | None]] = {}

    def work(seed: int, policy: Policy) -> None:
        found[seed] = [d.margin for d in play(policy, 1500, seed)]

    threads = [threading.Thread(target=work, args=(seed, copy.deepcopy(start))) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[1], found[2]] == alone


def test_pickling_is_saving() -> None:
    policy = make("CLUCB2", "dim")
    play(policy, 50)
    twin = pickle.loads(pickle.dumps(policy))
    assert state(twin) == state(policy)
    error = pickle.loads(pickle.dumps(handrail.InputError("alpha", "is wrong", "mend it")))
    assert str(error) == "alpha: is wrong; mend it"


@pytest.mark.parametrize("at_once", [True, False], ids=["two copies", "an older save twice"])
def test_what_two_copies_explore_is_paid_for_once_only(at_once: bool) -> None:
    """What the guide says of them: each keeps its promise, and both together break it.

    The baseline earns 0.5 and proposals nothing. 200 rounds of the baseline are worth 50; each copy
    explores as far as that goes, which the other knows nothing of.
    """
    guard = make("GUARD", "guard", alpha=0.5, baseline_mean=0.5, delta=1e-9)
    budget = 0.0
    for _ in range(200):
        guard.decide(hold=True)
        budget += 0.25
    copies = [pickle.loads(pickle.dumps(guard)) for _ in range(2)]
    alone = [budget, budget]
    for which in [0, 1] * 190 if at_once else [0] * 190 + [1] * 190:
        decision = copies[which].decide(proposal="new")
        assert decision.margin >= 0.0
        change = -0.25 if decision.action == "new" else 0.25
        budget += change
        alone[which] += change
        if decision.awaits_reward:
            copies[which].learn(decision, 0.0)
    assert min(alone) >= 0.0
    assert budget < -40.0


@pytest.mark.parametrize("where", ["decide", "learn"])
def test_a_step_cut_in_half_is_not_saved_over_a_good_file(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the model's step and the policy's: the old file stays, the policy stops."""
    policy = make("UCB", "arms")
    play(policy, 20)
    policy.save(tmp_path / "p")
    before = (tmp_path / "p").read_bytes()

    model = policy._state.model
    step: Any = {"decide": model.decide, "learn": model.reward}[where]

    def interrupted(*given: Any) -> None:
        step(*given)
        raise KeyboardInterrupt

    if where == "decide":
        monkeypatch.setattr(model, "decide", interrupted)
        with pytest.raises(KeyboardInterrupt):
            policy.decide()
    else:
        decision = policy.decide()
        monkeypatch.setattr(model, "reward", interrupted)
        with pytest.raises(KeyboardInterrupt):
            policy.learn(decision, 1.0)
    for call in (policy.decide, policy.explain, lambda: policy.save(tmp_path / "p")):
        with pytest.raises(RuntimeError, match="interrupted"):
            call()
    assert (tmp_path / "p").read_bytes() == before
    monkeypatch.undo()
    assert handrail.load_policy(tmp_path / "p").decide().round == 21
