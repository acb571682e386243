"""Decisions that were not carried out, saved, copied and taken from a log."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError, Policy
from handrail.conservative.choice import ACTION, FLOOR, MEAN, PROMISE
from handrail.policies.played import Played
from handrail.testing.world import World
from support import FEATURES, SETTINGS, make

CONTEXTS: dict[str, Any] = {"features": FEATURES, "baseline": 1, "baseline_mean": 0.5}


# ---------------------------------------------------------------- saved and copied


def _walk(policy: Policy, rounds: int, learns: bool, told: bool) -> None:
    """Play with rewards late or never and fallbacks; the baseline's mean is told or not."""
    world = World(policy, 1)
    rng = np.random.default_rng(170)
    waiting: list[tuple[handrail.Decision, float]] = []
    for _ in range(rounds):
        given = world.round()
        if policy.algorithm.name == "LinUCB" and "features" in given:
            given["baseline"] = 0
        if not told:
            given.pop("baseline_mean", None)
            if "proposal" in given:
                given["baseline"] = "old"
        decision = policy.decide(**given)
        if decision.awaits_reward:
            waiting.append((decision, world.reward()))
        if waiting and rng.random() < 0.2:
            lost, reward = waiting.pop(int(rng.integers(len(waiting))))
            kind = rng.random()
            if kind < 0.3:
                fell = policy.fall_back(lost) == "baseline"
                if fell and learns and rng.random() < 0.7:
                    waiting.append((lost, reward))
            elif kind < 0.9:
                policy.learn(lost, reward)
            else:
                policy.close(lost)


@pytest.mark.parametrize("lessons", ["plain", "rewards", "mean", "learned"])
@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_saved_and_copied_halfway(name: str, setting: str, lessons: str, tmp_path: Path) -> None:
    """A loaded policy and a copy go on with the same bits, and settle what was open."""
    row = handrail.algorithm(name)
    more: dict[str, Any] = {"confirm": True}
    if row.past == "oracle" and (setting == "dim" or lessons == "learned"):
        return
    if lessons != "plain":
        if not row.conservative or (setting == "guard" and lessons != "learned"):
            return
        told: dict[str, Any] = {"learn_baseline": "mean" if lessons == "mean" else True}
        more |= {"baseline_mean": "learned"} if lessons == "learned" else told
    policy = make(name, setting, alpha=0.6 if row.conservative else None, **more)
    learns = not row.conservative or lessons in ("rewards", "learned")
    if name == "LinUCB" and setting == "dim":
        learns = False
    _walk(policy, 60, learns, told=lessons != "learned")
    path = tmp_path / "policy"
    policy.save(path)
    loaded, twin = handrail.load_policy(path), copy.copy(policy)
    assert loaded.to_bytes() == policy.to_bytes() == twin.to_bytes()
    waiting = list(policy._state.open)
    for number in waiting:
        decision = policy.waiting_id(number)
        assert decision is not None
        answers = [each.fall_back(decision) for each in (policy, loaded, twin)]
        assert len(set(answers)) == 1
        if learns and number % 2:
            answers = [each.learn(decision, reward=0.5) for each in (policy, loaded, twin)]
            assert answers == ["learned"] * 3
    assert waiting
    assert loaded.to_bytes() == policy.to_bytes() == twin.to_bytes()
    assert Policy.from_bytes("again", policy.to_bytes()).to_bytes() == policy.to_bytes()


def test_a_file_that_lies_is_refused(tmp_path: Path) -> None:
    """Compiled code trusts what open rounds say."""
    policy = make("CLUCB2", "dim", learn_baseline=True, confirm=True, alpha=0.9)
    assert any(policy.decide(**CONTEXTS).event != "baseline" for _ in range(100))
    content = policy.to_bytes()
    changes: list[Any] = [
        lambda each: each.pop("instead"),
        lambda each: each["instead"].update(action=-2),
        lambda each: each["instead"].update(floor=float("nan")),
        lambda each: each["instead"].update(mean="0.5"),
    ]
    for change in changes:
        with pytest.raises(InputError):
            Policy.from_bytes("changed", _changed(content, change))
    for wrong in (None, np.zeros((2, 3)), np.zeros((1, 2)), np.full((1, 3), np.inf)):
        with pytest.raises(InputError):
            Policy.from_bytes("changed", _changed(content, None, wrong))
    assert Policy.from_bytes("same", content).to_bytes() == content


def _changed(content: bytes, change: Any, rows: Any = 0) -> bytes:
    """Return a file with its last open round changed, or with other features of baselines."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "state.json" and change is not None:
                document = json.loads(data)
                change(document["open"][-1])
                data = json.dumps(document).encode()
            if name == "open/baselines.npy" and change is None:
                if rows is None:
                    continue
                buffer = io.BytesIO()
                np.save(buffer, rows)
                data = buffer.getvalue()
            new.writestr(name, data)
    return result.getvalue()


# ---------------------------------------------------------------- from a log


@pytest.mark.parametrize("lessons", ["plain", "rewards", "learned"])
@pytest.mark.parametrize("setting", ["arms", "features", "dim", "guard"])
def test_replayed(setting: str, lessons: str) -> None:
    """A log of rounds, rewards and fallbacks gives the same bits as deciding did."""
    names = {"arms": "HANDRAIL", "guard": "GUARD"}
    more: dict[str, Any] = {"confirm": True, "alpha": 0.6}
    if setting in ("features", "dim"):
        more["checkpoint_every"] = 100
    if lessons == "rewards" and setting != "guard":
        more["learn_baseline"] = True
    if lessons == "learned":
        more["baseline_mean"] = "learned"
    policy = make(names.get(setting, "LinHANDRAILT"), setting, **more)
    again = make(names.get(setting, "LinHANDRAILT"), setting, **more)
    again.take_name(policy._origin.policy)
    world = World(policy, 6)
    rng = np.random.default_rng(171)
    fallen = 0
    for _ in range(150):
        given = world.round()
        if lessons == "learned":
            given.pop("baseline_mean", None)
        if setting == "guard":
            given["baseline"] = "old"
        decision = policy.decide(**given)
        rows = given.get("features")
        baseline = given.get("baseline", 0 if setting == "guard" else 1)
        choice = decision.choice
        again.replay(
            Played(
                decision.round,
                str(decision.identity and decision.identity.copy),
                choice[ACTION],
                decision.event == "baseline",
                baseline if isinstance(baseline, int) else 0,
                choice[FLOOR],
                choice[MEAN],
                choice[PROMISE],
                None if rows is None else rows[choice[ACTION]],
                None if rows is None else rows[baseline],
            )
        )
        kind = rng.random()
        if kind < 0.4 and decision.event != "baseline":
            assert policy.fall_back(decision) == again.fall_back(decision) == "baseline"
            fallen += 1
        if kind > 0.2 and decision.awaits_reward and decision.round in policy._state.open:
            reward = world.reward()
            assert policy.learn(decision, reward) == again.learn(decision, reward)
        assert again.to_bytes() == policy.to_bytes()
    assert fallen > 3


def test_a_log_must_hold_the_features_of_baselines() -> None:
    policy = make("CLUCB2", "dim", learn_baseline=True, confirm=True)
    played = Played(1, "0" * 8, 0, False, 1, 0.5, 0.5, 0.0, FEATURES[0], None)
    before = policy.to_bytes()
    with pytest.raises(InputError) as error:
        policy.replay(played)
    assert (error.value.field, policy.to_bytes()) == ("base", before)
