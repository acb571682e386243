"""Compiled code: never stale, never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import handrail
from handrail.compiled import cache_folder

PACKAGE = Path(handrail.__file__).parent
CACHE = cache_folder()
CALLER = """
import handrail
policy = handrail.make_policy("CUCB", arms=2, baseline=0, baseline_mean=0.5, alpha=0.5, delta=0.1,
                              reward_range=(0, 1))
for _ in range(4):
    decision = policy.decide()
    policy.learn(decision, 1.0)
print(decision.action, decision.upper)
"""


def run(root: Path, cache: Path, **environment: str) -> str:
    """Run the caller of a rule in a fresh process, with the package from this root."""
    done = subprocess.run(
        [sys.executable, "-c", CALLER],
        env={**os.environ, "PYTHONPATH": str(root), "HANDRAIL_CACHE": str(cache), **environment},
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    return done.stdout


@pytest.mark.long
def test_an_edited_rule_reaches_its_callers(tmp_path: Path) -> None:
    """The width is called by the policy's compiled round, in another module.

    The edit keeps the file's size and time stamp: only its content tells.
    """
    root, cache = tmp_path / "root", tmp_path / "cache"
    shutil.copytree(PACKAGE, root / "handrail", ignore=shutil.ignore_patterns("__pycache__"))
    rule = root / "handrail" / "bounds" / "arm.py"
    first = run(root, cache, PYTHONDONTWRITEBYTECODE="1")
    compiled = set(cache.rglob("*.nbi"))
    assert compiled
    assert run(root, cache, PYTHONDONTWRITEBYTECODE="1") == first
    assert set(cache.rglob("*.nbi")) == compiled  # served from the cache
    before, text = rule.stat(), rule.read_text()
    edited = text.replace("noise * math.sqrt(2.0 * math.log", "noise * math.sqrt(8.0 * math.log")
    assert edited != text
    rule.write_text(edited)
    os.utime(rule, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert rule.stat().st_size == before.st_size
    action, upper = first.split()
    edited_action, edited_upper = run(root, cache, PYTHONDONTWRITEBYTECODE="1").split()
    assert edited_action == action == "1"
    assert float(edited_upper) - 1.0 == pytest.approx(2.0 * (float(upper) - 1.0))


def test_old_folders_are_swept(tmp_path: Path) -> None:
    old = tmp_path / "compiled" / "0123456789abcdef"
    fresh = tmp_path / "compiled" / "fedcba9876543210"
    for folder in (old, fresh):
        folder.mkdir(parents=True)
    past = time.time() - 40 * 86400
    os.utime(old, (past, past))
    run(PACKAGE.parent, tmp_path, NUMBA_DISABLE_JIT="1")
    assert not old.exists()
    assert fresh.exists()


@pytest.mark.long
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """A file stands where the folder should be (root may write into read-only folders)."""
    blocked = tmp_path / "cache"
    blocked.write_text("in the way")
    assert run(PACKAGE.parent, blocked).split()[0] == "1"
    assert blocked.read_text() == "in the way"


def test_the_rules_run_uncompiled_to_the_same_bits(tmp_path: Path) -> None:
    assert run(PACKAGE.parent, tmp_path, NUMBA_DISABLE_JIT="1") == run(PACKAGE.parent, CACHE)


def test_other_packages_keep_their_cache_folder() -> None:
    code = (
        "import numba.core.config as c; before = c.CACHE_DIR; import handrail.policies.policy; "
        "assert c.CACHE_DIR == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_whatever_is_passed_each_round_is_compiled_once() -> None:
    """A second signature would stop a running system for seconds to compile."""
    code = """
import sys
sys.path[:0] = sys.argv[1:]
import numpy as np
from support import FEATURES, make
from handrail.policies.arms import decide_arms, reward_arms
from handrail.policies.contexts import decide_contexts, reward_contexts
from handrail.policies.fixed import decide_fixed, reward_fixed
read_only = FEATURES.copy()
read_only.flags.writeable = False
odd = [FEATURES, read_only, np.asfortranarray(FEATURES), FEATURES.tolist(), FEATURES[::-1],
       FEATURES.astype(np.float32), (10 * FEATURES).astype(int) // 10, FEATURES.astype(">f8")]
ones = [1, 1.0, True, np.float32(1), np.int8(1), np.bool_(True)]
for name, setting in [("UCB", "arms"), ("CUCB-Or", "arms"), ("CUCB2", "arms"),
                      ("LinUCB", "features"), ("CLUCB", "features"), ("CLUCB-Or", "features")]:
    for window in (None, 3):
        policy = make(name, setting, window=window, default_reward=0)
        for one in ones * 20:
            policy.learn(policy.decide(baseline=np.int16(1)), one)
            policy.learn(policy.decide(baseline=1, baseline_mean=np.float32(0.5)), one)
            policy.close(policy.explain() and policy.decide())
for name in ("LinUCB", "CLUCB", "CLUCB2"):
    for changes in ({}, {"reward_range": (-1, 2)}, {"window": np.int64(2)}):
        policy = make(name, "dim", **changes)
        for features in odd * 10:
            decision = policy.decide(features=features, baseline=np.uint8(1), baseline_mean=0)
            policy.learn(decision.id, np.float32(0.5))
        oracle = make("CLUCB-Or", "dim")
        oracle.decide(features=FEATURES, baseline=0, baseline_mean=0, true_means=[0, 1, 0, 1, 1])
for function in (decide_arms, reward_arms, decide_fixed, reward_fixed, decide_contexts,
                 reward_contexts):
    print(len(function.signatures))
"""
    here = str(Path(__file__).parent)
    run = subprocess.run(
        [sys.executable, "-c", code, here], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["1"] * 6
