"""What a policy was made of is written down: a later release makes the same one from it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError, Policy
from handrail.policies import catalogue, defaults
from handrail.policies.catalogue import algorithm_by_name_alone
from handrail.policies.defaults import resolved_parameters
from handrail.policies.make import remake_policy
from support import SETTINGS, make, parameters, play, state

OLD = Path(__file__).parent / "data" / "constant-mean-2.handrail"
"""LinHANDRAIL after 60 rounds, dim 2, one mean for all contexts; its release learned from that."""


def document(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        found: dict[str, Any] = json.loads(archive.read("state.json"))
    return found


def contexts() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    return [rng.uniform(0.2, 0.6, (3, 2)) for _ in range(100)]


def go_on(policy: Policy) -> list[tuple[int | str, float | None]]:
    found = []
    for rows in contexts()[60:]:
        decision = policy.decide(features=rows, baseline=0)
        if decision.awaits_reward:
            policy.learn(decision, float(rows[int(decision.action)] @ [0.6, 0.5]))
        found.append((decision.action, decision.margin))
    return found


def lessons(policy: Policy) -> int:
    return int(policy._state.model.ledger["lessons"][0])


def test_an_old_file_goes_on_with_its_rule(tmp_path: Path) -> None:
    """The numbers at rounds 61, 71 and 100 are those that the release that wrote it printed."""
    assert "filled_in" not in document(OLD)
    policy = handrail.load_policy(OLD)
    policy.save(tmp_path / "p")
    again = handrail.load_policy(tmp_path / "p")
    before = lessons(policy)
    found = go_on(policy)
    assert [found[i][0] for i in (0, 10, 39)] == [2, 0, 1]
    wanted = [7.278313824961767, 8.937180811479202, 12.910664016657218]
    assert [found[i][1] for i in (0, 10, 39)] == pytest.approx(wanted, rel=1e-9)
    assert lessons(policy) == before + 4  # four rounds of the baseline were among them
    assert found == go_on(again)
    assert document(tmp_path / "p")["filled_in"]["learn_baseline"] == "mean"


def test_an_old_log_goes_on_with_its_rule() -> None:
    given: dict[str, Any] = {"dim": 2, "alpha": 0.2, "delta": 0.1, "noise": 0.1}
    given |= {"theta_bound": 2.0, "baseline_mean": 0.4}
    old = remake_policy("LinHANDRAIL", given)
    new = handrail.make_policy("LinHANDRAIL", **given)
    for policy in (old, new):
        policy.decide(features=contexts()[0], baseline=0, hold=True)
    assert (lessons(old), lessons(new)) == (1, 0)


@pytest.mark.parametrize("name", [row.name for row in handrail.algorithms()])
def test_names_alone_mean_what_they_did(name: str) -> None:
    """Apart from what LinHANDRAIL learns, no name has changed its meaning so far."""
    row, old = handrail.algorithm(name), algorithm_by_name_alone(name)
    assert [old[part] for part in ("name", "estimator", "past", "selection", "schedule")] == [
        row[part] for part in ("name", "estimator", "past", "selection", "schedule")
    ]
    changed = {key for key in row.preset if row.preset[key] != old.preset[key]}
    assert changed <= {"learn_baseline"}
    with pytest.raises(InputError):
        algorithm_by_name_alone("HANDRAIL-0")


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_a_policy_is_made_again_from_what_is_written_down(
    name: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a release to which the name, its presets and all defaults mean something else."""
    given = parameters(name, setting)
    policy = make(name, setting)
    resolved = json.loads(json.dumps(resolved_parameters(policy.algorithm, given)))
    expected = [(d.action, d.margin, d.upper) for d in play(policy, 60)]
    later = {"ridge": 7.0, "cumulative": "subgaussian", "tightest_at": 3.0, "learn_baseline": True}
    monkeypatch.setattr(defaults, "_PRESET", later)
    monkeypatch.setattr(defaults, "default_width", lambda algorithm, dim: "determinant")
    monkeypatch.setattr(catalogue, "_BY_NAME", {})
    again = remake_policy(name, given, resolved)
    assert expected == [(d.action, d.margin, d.upper) for d in play(again, 60)]


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_files_hold_every_value_that_was_filled_in(
    name: str, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make(name, setting)
    play(policy, 30)
    policy.save(tmp_path / "p")
    assert document(tmp_path / "p")["filled_in"] == dict(policy._filled_in)
    later = {"ridge": 7.0, "cumulative": "subgaussian", "tightest_at": 3.0, "learn_baseline": True}
    monkeypatch.setattr(defaults, "_PRESET", later)
    again = handrail.load_policy(tmp_path / "p")
    assert state(again) == state(policy)
    assert [d.margin for d in play(again, 30, 1)] == [d.margin for d in play(policy, 30, 1)]


def test_what_was_filled_in() -> None:
    given: dict[str, Any] = {"arms": 3, "baseline": 0, "baseline_mean": 0.5, "alpha": 0.1}
    given |= {"delta": 0.1, "reward_range": (0, 2), "clip": "none"}
    found = resolved_parameters(handrail.algorithm("HANDRAIL"), given)
    assert found["parameters"] == {
        "width": "kl",
        "cumulative": "bernstein",
        "tightest_at": 10.0,
        "learn_baseline": False,
        "accounting": "union",
        "noise": 1.0,
    }
    assert found["algorithm"]["past"] == "larger"


def test_a_file_cannot_fill_in_what_was_given(tmp_path: Path) -> None:
    make("CUCB", "arms").save(tmp_path / "p")
    with zipfile.ZipFile(tmp_path / "p") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for change in ({"alpha": 0.9}, ["width"], 3):
        found = json.loads(members["state.json"])
        found["filled_in"] = change
        with zipfile.ZipFile(tmp_path / "q", "w") as archive:
            archive.writestr("state.json", json.dumps(found))
            for name in members.keys() - {"state.json"}:
                archive.writestr(name, members[name])
        with pytest.raises(InputError) as caught:
            handrail.load_policy(tmp_path / "q")
        assert caught.value.field == "path"
