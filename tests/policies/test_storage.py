"""Saved state: open, versioned, whole or not at all."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError
from handrail.bounds.ellipsoid import ellipsoid_radius
from handrail.policies.rounds import NO_TRUTH, Round
from support import FEATURES, SETTINGS, make, play, state

CHILD = """
import resource, sys
sys.path[:0] = sys.argv[2:]
from support import make, play
policy = make("CLUCB2", "dim")
play(policy, 50)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    policy.save(sys.argv[1])
except OSError as error:
    print("refused", error.errno)
"""

KILLED = """
import sys
sys.path[:0] = sys.argv[2:]
from support import make, play
policy = make("CLUCB2", "dim")
for number in range(10**9):
    play(policy, 1)
    policy.save(sys.argv[1])
    if number == 0:
        print("ready", flush=True)
"""

HERE = str(Path(__file__).parent.parent)


def rewrite(path: Path, change: Any) -> None:
    """Change a saved policy's JSON, and leave a file that is whole as a zip."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["state.json"])
    change(document, members)
    members["state.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    policy = make("CLUCB2", "dim", noise=0.1, reward_range=None)
    play(policy, 200)
    for _ in range(40):
        policy.decide(features=np.eye(3), baseline=0, baseline_mean=0.3)
    assert policy.pending
    path = tmp_path / "policy.handrail"
    policy.save(path)
    return path


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_a_loaded_policy_goes_on_bit_for_bit(name: str, setting: str, tmp_path: Path) -> None:
    policy = make(name, setting)
    play(policy, 300)
    policy.save(tmp_path / "p")
    loaded = handrail.load_policy(str(tmp_path / "p"))
    assert loaded.algorithm == policy.algorithm
    assert loaded.failure_probability == policy.failure_probability
    on = [(d.round, d.action, d.margin, d.upper, d.lower) for d in play(policy, 300, 1)]
    assert on == [(d.round, d.action, d.margin, d.upper, d.lower) for d in play(loaded, 300, 1)]
    assert state(loaded) == state(policy)


def test_parameters_of_every_kind_come_back(tmp_path: Path) -> None:
    policy = make(
        "CLUCB2T",
        "features",
        width="determinant",
        cumulative="mixture",
        tightest_at=np.float64(300.0),
        delta_weights={"estimator": 3, "martingale": 1.0},
        reward_range=np.array([-1.0, 3.0]),
        baseline_lower=0.1,
        window=np.int64(7),
        default_reward=0,
        clip="none",
        ridge=0.25,
    )
    play(policy, 100)
    policy.save(tmp_path / "p")
    loaded = handrail.load_policy(tmp_path / "p")
    assert state(loaded) == state(policy)
    assert [d.margin for d in play(loaded, 50)] == [d.margin for d in play(policy, 50)]


@pytest.mark.parametrize(
    "number",
    [Decimal, Fraction, np.array, np.float32, np.float64, np.longdouble],
    ids=lambda number: number.__name__,
)
def test_numbers_of_every_type_come_back(number: Any) -> None:
    """What is kept is the plain number that was checked, whatever it was given as."""
    whole = np.array if number is np.array else np.int16
    policy = make(
        "HANDRAILT",
        "arms",
        arms=whole(5),
        arms_ever=whole(7),
        baseline=whole(1),
        baseline_mean=number(0.5),
        baseline_lower=number(0.25),
        alpha=number(0.25),
        delta=number(0.125),
        noise=number(0.5),
        reward_range=[number(0), number(1)],
        width="mixture",
        tightest_at=number(16),
        delta_weights={"estimator": number(1), "martingale": number(2)},
        checkpoint_every=whole(10),
        window=whole(3),
        default_reward=number(0.0),
    )
    plain = make(
        "HANDRAILT",
        "arms",
        arms_ever=7,
        baseline_mean=0.5,
        baseline_lower=0.25,
        delta=0.125,
        noise=0.5,
        width="mixture",
        tightest_at=16.0,
        delta_weights={"estimator": 1.0, "martingale": 2.0},
        window=3,
        default_reward=0.0,
    )
    given = dict(policy.parameters)
    assert given == dict(plain.parameters)
    assert all(type(given[name]) is float for name in ("alpha", "delta", "default_reward"))
    assert all(type(given[name]) is int for name in ("arms", "baseline", "window"))
    play(policy, 60)
    play(plain, 60)
    saved = state(policy)
    loaded = handrail.Policy.from_bytes("saved", saved)
    assert state(loaded) == saved
    assert state(pickle.loads(pickle.dumps(policy))) == saved
    assert [d.margin for d in play(loaded, 50)] == [d.margin for d in play(plain, 50)]


def test_one_number_of_another_type_comes_back() -> None:
    for changes in (
        {"learn_baseline": np.True_},
        {"ridge": Decimal("0.25")},
        {"theta_bound": Fraction(3, 2)},
        {"feature_bound": np.array(2)},
        {"baseline_mean": (Decimal("0.4"), np.float16(0.5))},
        {"baseline_mean": np.array([0.4, 0.5], dtype=np.longdouble)},
    ):
        saved = state(make("CLUCB2", "features", **changes))
        assert state(handrail.Policy.from_bytes("saved", saved)) == saved


def test_parts_by_hand_come_back(tmp_path: Path) -> None:
    mine = handrail.Algorithm("mine", "means", "martingale", "largest-lower-literal", "checkpoints")
    policy = make(mine, "arms")
    play(policy, 50)
    policy.save(tmp_path / "p")
    loaded = handrail.load_policy(tmp_path / "p")
    assert loaded.algorithm == mine
    assert state(loaded) == state(policy)


def test_the_format_is_open(saved: Path) -> None:
    """Read with the standard library and NumPy alone."""
    with zipfile.ZipFile(saved) as archive:
        document = json.loads(archive.read("state.json"))
        factor = np.load(io.BytesIO(archive.read("model/factor.npy")), allow_pickle=False)
    assert document["format"] == "handrail-policy"
    assert document["version"] == 3
    assert document["algorithm"]["name"] == "CLUCB2"
    assert document["ledger"]["rounds"] == 240
    assert factor.shape == (3, 3)


def test_a_newer_format_is_refused(saved: Path) -> None:
    def newer(document: dict[str, Any], members: dict[str, bytes]) -> None:
        document["version"] = 4

    rewrite(saved, newer)
    with pytest.raises(InputError, match="upgrade handrail") as caught:
        handrail.load_policy(saved)
    assert caught.value.field == "path"


def _set(key: str, value: Any) -> Any:
    def change(document: dict[str, Any], members: dict[str, bytes]) -> None:
        document[key] = value

    return change


def _ledger(key: str, value: Any) -> Any:
    def change(document: dict[str, Any], members: dict[str, bytes]) -> None:
        document["ledger"][key] = value

    return change


def _array(name: str, value: Any) -> Any:
    def change(document: dict[str, Any], members: dict[str, bytes]) -> None:
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=True)
        members[name] = buffer.getvalue()

    return change


def _drop(name: str) -> Any:
    def change(document: dict[str, Any], members: dict[str, bytes]) -> None:
        del members[name]

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("format", "something else"),
        _set("version", "1"),
        _set("version", 0),
        _set("algorithm", {"name": "CLUCB2"}),
        _set("parameters", {"dim": 3}),
        _set("parameters", ["dim"]),
        _set("ledger", {}),
        _set("open", []),
        _set("open", None),
        _ledger("rounds", 1.5),
        _ledger("rounds", "many"),
        _ledger("reward", 1e999),
        _ledger("plays", -1),
        _array("open/features.npy", np.full((40, 3), np.nan)),
        _array("model/factor.npy", np.eye(4)),
        _array("model/factor.npy", np.eye(3, dtype=np.float32)),
        _array("model/factor.npy", np.ones((3, 3))),
        _array("model/factor.npy", np.diag([1.0, 0.0, 1.0])),
        _array("model/theta.npy", np.full(3, np.nan)),
        _array("model/theta.npy", np.array([{}, {}, {}])),
        _array("open/features.npy", np.ones((1, 3))),
        _drop("model/factor.npy"),
        _drop("open/features.npy"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(saved: Path, change: Any) -> None:
    rewrite(saved, change)
    with pytest.raises(InputError) as caught:
        handrail.load_policy(saved)
    assert caught.value.field == "path"


def _open_round(key: str, value: Any) -> Any:
    def change(document: dict[str, Any], members: dict[str, bytes]) -> None:
        document["open"][0][key] = value

    return change


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("action", 5),
        ("action", -1),
        ("action", 1.0),
        ("round", 0),
        ("round", 10**6),
        ("promise", "0"),
        ("promise", 1e999),
        ("reward", "1"),
    ],
)
@pytest.mark.parametrize("setting", ["arms", "features"])
def test_open_rounds_that_cannot_be_are_refused(
    tmp_path: Path, setting: str, key: str, value: Any
) -> None:
    """Compiled code uses them as indices: nothing out of range may come through."""
    policy = make("UCB" if setting == "arms" else "LinUCB", setting)
    policy.decide()
    path = tmp_path / "p"
    policy.save(path)
    rewrite(path, _open_round(key, value))
    with pytest.raises(InputError) as caught:
        handrail.load_policy(path)
    assert caught.value.field == "path"


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p"
    for content in (b"", b"not a zip", b"PK\x03\x04", json.dumps({"version": 1}).encode()):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            handrail.load_policy(path)
        assert caught.value.field == "path"
    with pytest.raises(FileNotFoundError):
        handrail.load_policy(tmp_path / "missing")


def test_every_cut_and_every_flipped_byte_is_found_or_harmless(saved: Path) -> None:
    """Damage is either refused or touches nothing that is read (time stamps and the like)."""
    whole = saved.read_bytes()
    policy = handrail.load_policy(saved)
    for length in range(0, len(whole), 97):
        saved.write_bytes(whole[:length])
        with pytest.raises(InputError):
            handrail.load_policy(saved)
    refused = 0
    places = range(0, len(whole), 11)
    for place in places:
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            loaded = handrail.load_policy(saved)
        except InputError:
            refused += 1
        else:
            assert state(loaded) == state(policy)
    assert refused > 0.8 * len(places)


def test_saving_replaces_in_one_step(saved: Path) -> None:
    """The old file is there, whole, until the new one is; nothing is left behind."""
    before = saved.read_bytes()
    policy = handrail.load_policy(saved)
    play(policy, 10)
    saved.chmod(0o640)
    with saved.open("rb") as old:
        policy.save(saved)
        assert old.read() == before
    assert saved.read_bytes() != before
    assert saved.stat().st_mode & 0o777 == 0o640
    assert list(saved.parent.iterdir()) == [saved]
    with pytest.raises(FileNotFoundError):
        policy.save(saved.parent / "no such folder" / "p")


@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_a_disk_that_fills_up_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(saved), HERE],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("refused")
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_while_saving_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "p"
    rng = np.random.default_rng(5)
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), HERE], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            deadline = rng.uniform(0.05, 0.3)
            try:
                process.wait(timeout=deadline)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        assert handrail.load_policy(path).round > 0


@pytest.mark.parametrize("name", ["arms", "contexts"])
def test_files_of_version_1_are_read(name: str, tmp_path: Path) -> None:
    """Written by the release before: what it did not know of is 0, and nothing else changed."""
    old = Path(__file__).parent / "data" / f"{name}-1.handrail"
    with zipfile.ZipFile(old) as archive:
        document = json.loads(archive.read("state.json"))
    assert document["version"] == 1
    policy = handrail.load_policy(old)
    assert (policy.round, policy.pending) == (200, len(document["open"]))
    ledger = policy._state.model.ledger[0]
    for field, value in document["ledger"].items():
        # log det V is taken for the largest that rounding of the sum V allows.
        assert ledger[field] == (pytest.approx(value, rel=1e-9) if field == "log_det" else value)
    assert ledger["log_det"] >= document["ledger"]["log_det"]
    policy.save(tmp_path / "p")
    again = handrail.load_policy(tmp_path / "p")
    given: dict[str, Any] = (
        {} if name == "arms" else {"features": FEATURES, "baseline": 1, "baseline_mean": 0.5}
    )
    one = [policy.decide(**given).margin for _ in range(20)]
    assert one == [again.decide(**given).margin for _ in range(20)]


DATA = Path(__file__).parent / "data"


def _kept(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a file holds: its document and its arrays."""
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("state.json"))
        names = [name for name in archive.namelist() if name.startswith("model/")]
        arrays = {
            name[6:-4]: np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in names
        }
    return document, arrays


def _widths(policy: handrail.Policy, features: Any) -> tuple[Any, Any]:
    """What a policy over contexts takes ||phi||_{V^-1} and <theta_hat, phi> for."""
    model: Any = policy._state.copy().model
    beta = ellipsoid_radius(model.rules[0], model.ledger[0])
    model.decide(Round(features, 0, 0.0, 0.0, NO_TRUTH))
    found = np.array([model.examined(action)[1:] for action in range(len(features))])
    return (found[:, 0] - found[:, 1]) / (2.0 * beta), found.mean(axis=1)


def test_contexts_of_version_2_are_read(tmp_path: Path) -> None:
    """From V and the sum of r phi, as numpy solves them."""
    document, arrays = _kept(DATA / "contexts-2.handrail")
    assert document["version"] == 2
    policy = handrail.load_policy(DATA / "contexts-2.handrail")
    assert (policy.round, policy.pending) == (300, len(document["open"]))
    widths, means = _widths(policy, FEATURES)
    solution = np.linalg.solve(arrays["design"], FEATURES.T)
    np.testing.assert_allclose(widths, np.sqrt(np.sum(FEATURES.T * solution, axis=0)), rtol=1e-9)
    np.testing.assert_allclose(means, solution.T @ arrays["response"], rtol=1e-9)
    policy.save(tmp_path / "p")
    again = handrail.load_policy(tmp_path / "p")
    given: dict[str, Any] = {"features": FEATURES, "baseline": 1, "baseline_mean": 0.5}
    one = [policy.decide(**given).margin for _ in range(20)]
    assert one == [again.decide(**given).margin for _ in range(20)]


def test_fixed_arms_of_version_2_are_read() -> None:
    """From counts: the same as what the release before carried along, up to its rounding."""
    document, arrays = _kept(DATA / "fixed-2.handrail")
    policy = handrail.load_policy(DATA / "fixed-2.handrail")
    assert (policy.round, policy.pending) == (300, len(document["open"]))
    found = policy._state.model.arrays()
    for name, value in arrays.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12)
    assert policy._state.model.ledger["log_det"][0] == pytest.approx(document["ledger"]["log_det"])
    policy.decide()


def test_what_is_lost_in_rounding_is_not_kept() -> None:
    """The release before added 262,144 equal rows with D^2 / lambda = 9e7 up to a V without use.

    In directions that were hardly seen V is rounding alone, and so is V^-1 sum r phi there. From
    lambda I and 0 the ellipsoid is right again, and a past bound of 0 is true whatever was played.
    """
    document, arrays = _kept(DATA / "steep-2.handrail")
    ridge, rows = document["parameters"]["ridge"], document["ledger"]["rows"]
    assert rows == 1 << 18
    row = arrays["response"] / np.linalg.norm(arrays["response"])
    with pytest.warns(UserWarning, match="begins to learn anew"):
        policy = handrail.load_policy(DATA / "steep-2.handrail")
    everywhere = np.vstack([row, np.linalg.svd(row[None, :])[2][1:]])
    widths, means = _widths(policy, everywhere)
    np.testing.assert_allclose(widths, 1.0 / np.sqrt(ridge), rtol=1e-12)
    assert (means == 0.0).all()
    ledger = policy._state.model.ledger[0]
    assert (ledger["log_det"], ledger["rows"]) == (0.0, rows)
    assert (ledger["plays"], ledger["reward"]) == tuple(
        document["ledger"][name] for name in ("plays", "reward")
    )


@pytest.mark.parametrize(("rounding", "kept"), [(1e-3, True), (0.009, True), (0.011, False)])
def test_an_estimate_of_version_2_is_within_its_widths(
    rounding: float, kept: bool, tmp_path: Path
) -> None:
    """One direction was seen often and the other once; V is off by as much as it may be.

    Widths are no smaller than the exact ones, and theta_hat moves by less than they are longer.
    """
    document, _ = _kept(DATA / "contexts-2.handrail")
    ridge, rows = document["parameters"]["ridge"], document["ledger"]["rows"]
    dim = 3
    trace = rounding * ridge * 2.0**52 / (rows + dim)
    exact = np.diag([trace - 3 * ridge, ridge, ridge * 1.01])
    theta = np.array([0.5, 0.3, 0.4])
    away = np.diag([0.0, 0.0, 0.999 * rounding * ridge])

    def steep(_: dict[str, Any], members: dict[str, bytes]) -> None:
        for name, value in (("design", exact + away), ("response", exact @ theta)):
            _array(f"model/{name}.npy", value)(_, members)

    path = tmp_path / "p"
    path.write_bytes((DATA / "contexts-2.handrail").read_bytes())
    rewrite(path, steep)
    if not kept:
        with pytest.warns(UserWarning, match="anew"):
            handrail.load_policy(path)
        return
    widths, means = _widths(handrail.load_policy(path), np.eye(dim))
    true = 1.0 / np.sqrt(np.diag(exact))
    assert (widths >= true).all()
    assert (widths <= true * (1.0 + 7.0 * rounding)).all()
    bound = 3.0 * rounding * np.sqrt(ridge)  # in units of |.|_V, theta_bound being 1 or more
    assert (np.abs(means - theta) <= bound * true).all()


@pytest.mark.parametrize("name", ["design", "response"])
def test_older_sums_have_to_be_sound(name: str, tmp_path: Path) -> None:
    path = tmp_path / "p"
    path.write_bytes((DATA / "contexts-2.handrail").read_bytes())
    rewrite(path, _array(f"model/{name}.npy", np.full((3, 3) if name == "design" else 3, np.inf)))
    with pytest.raises(InputError, match="impossible"):
        handrail.load_policy(path)


def test_version_2_has_to_be_whole(saved: Path) -> None:
    def without(document: dict[str, Any], members: dict[str, bytes]) -> None:
        del document["ledger"]["variation"]

    rewrite(saved, without)
    with pytest.raises(InputError, match="other fields"):
        handrail.load_policy(saved)
