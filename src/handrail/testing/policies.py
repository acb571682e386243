"""The checks every policy has to pass."""

from __future__ import annotations

import math
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from handrail.errors import InputError
from handrail.policies.decision import Decision
from handrail.policies.load import load_policy
from handrail.policies.policy import Policy
from handrail.testing.require import require
from handrail.testing.world import World

__all__ = ["check_policy"]

_Seen = tuple[int, int | str, str, float | None, float, float]


def check_policy(factory: Callable[[], Policy], *, rounds: int = 200, seed: int = 0) -> None:
    """Check that a policy keeps its contract.

    Parameters
    ----------
    factory : callable
        Returns a fresh policy; called several times, always for the same one.
    rounds : int, default=200
        Rounds per check.
    seed : int, default=0
        Seed of the rounds and rewards.

    Raises
    ------
    AssertionError
        With what was violated.

    Notes
    -----
    The checks: the same rounds and rewards give the same decisions; saving and loading in mid-run,
    with rewards outstanding, equals never saving; `explain` returns what `decide` will and changes
    nothing; memory does not grow with the number of rounds; bad input raises `InputError` and
    changes nothing.

    Examples
    --------
    >>> import handrail
    >>> handrail.testing.check_policy(
    ...     lambda: handrail.make_policy("UCB", arms=3, delta=0.1, reward_range=(0, 1)), rounds=20
    ... )
    """
    for check in (
        _check_determinism,
        _check_save_and_load,
        _check_explain,
        _check_memory,
        _check_bad_input,
    ):
        check(factory, rounds, seed)


def _seen(decision: Decision) -> _Seen:
    return (
        decision.round,
        decision.action,
        decision.event,
        decision.margin,
        decision.upper,
        decision.lower,
    )


def _play(policy: Policy, world: World, rounds: int, held: list[Decision]) -> Iterator[_Seen]:
    """Play rounds; the rewards of some come late and out of order, from `held`."""
    for number in range(rounds):
        decision = policy.decide(**world.round())
        yield _seen(decision)
        held.append(decision)
        if number % 3 != 1:
            while held:
                policy.learn(held.pop(), world.reward())


def _state(policy: Policy) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        return path.read_bytes()


def _check_determinism(factory: Callable[[], Policy], rounds: int, seed: int) -> None:
    first, second = factory(), factory()
    one = list(_play(first, World(first, seed), rounds, []))
    two = list(_play(second, World(second, seed), rounds, []))
    require(one == two, "the same rounds and rewards gave different decisions")


def _check_save_and_load(factory: Callable[[], Policy], rounds: int, seed: int) -> None:
    policy = factory()
    held: list[Decision] = []
    list(_play(policy, World(policy, seed), rounds // 2 + 2, held))
    state = _state(policy)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        loaded = load_policy(path)
    require(_state(loaded) == state, "a loaded policy is not saved as it was")
    worlds = World(policy, seed + 1), World(loaded, seed + 1)
    on = list(_play(policy, worlds[0], rounds, list(held)))
    again = list(_play(loaded, worlds[1], rounds, list(held)))
    require(on == again, "a loaded policy decides differently")


def _check_explain(factory: Callable[[], Policy], rounds: int, seed: int) -> None:
    policy = factory()
    world = World(policy, seed)
    for number in range(rounds):
        given = world.round()
        before = _state(policy) if number % 20 == 0 else None
        explained = policy.explain(**given)
        require(before is None or _state(policy) == before, "explain changed the policy")
        require(not explained.id, "an explained decision has an id")
        decision = policy.decide(**given)
        require(_seen(explained) == _seen(decision), "explain differs from decide")
        require(explained.reason == decision.reason, "explain gives another reason")
        require(explained.explanation == decision.explanation, "explain differs as data")
        policy.learn(decision, world.reward())


def _check_memory(factory: Callable[[], Policy], rounds: int, seed: int) -> None:
    policy = factory()
    world = World(policy, seed)

    def play(count: int) -> None:
        for _ in range(count):
            policy.learn(policy.decide(**world.round()), world.reward())

    play(2 * rounds)
    tracemalloc.start()
    try:
        play(50)
        before = tracemalloc.get_traced_memory()[0]
        play(4 * rounds)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # A record kept per round would take more than a hundred bytes each.
    require(grown < 32 * 4 * rounds + 4096, f"memory grew by {grown} bytes in {4 * rounds} rounds")


def _check_bad_input(factory: Callable[[], Policy], rounds: int, seed: int) -> None:
    policy, stranger = factory(), factory()
    world = World(policy, seed)
    held: list[Decision] = []
    list(_play(policy, world, rounds // 4 + 2, held))
    good = world.round()
    foreign = stranger.decide(**good)
    for what, call in _bad_calls(policy, world, good, foreign):
        before = _state(policy)
        error = _refusal(call)
        if error is None:
            raise AssertionError(f"{what} was accepted")
        require(error.field, f"{what}: the error names no field")
        require(error.reason, f"{what}: the error gives no reason")
        require(_state(policy) == before, f"{what} changed the policy")


def _refusal(call: Callable[[], object]) -> InputError | None:
    try:
        call()
    except InputError as error:
        return error
    return None


def _bad_calls(
    policy: Policy, world: World, good: dict[str, Any], foreign: Decision
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Return calls that must be refused, each with what is wrong with it."""
    decision = policy.decide(**good)
    explained = policy.explain(**good)
    bad: tuple[Any, ...] = (math.nan, math.inf, -math.inf, "much", None)
    for reward in bad:
        yield f"reward {reward}", partial(policy.learn, decision, reward)
    if world.bounded:
        yield "a reward above its range", lambda: policy.learn(decision, world.high + 1.0)
        yield "a reward below its range", lambda: policy.learn(decision, world.low - 1.0)
    yield "a decision of another policy", lambda: policy.learn(foreign, world.high)
    yield "an id that is none", lambda: policy.learn("17", world.high)
    yield "a decision that was only explained", lambda: policy.learn(explained, world.high)
    if world.guard:
        yield "no proposal", lambda: policy.decide(**{**good, "proposal": None})
        yield "a proposal that is no name", lambda: policy.decide(**{**good, "proposal": 0.5})
    else:
        yield "an unknown baseline", lambda: policy.decide(**{**good, "baseline": 10**6})
        yield "a negative baseline", lambda: policy.decide(**{**good, "baseline": -1})
        yield "a proposal nobody asked for", lambda: policy.decide(**{**good, "proposal": 1})
    for mean in (world.high + 1.0, world.low - 1.0, math.nan):
        yield (
            f"baseline mean {mean}",
            partial(policy.decide, **{**good, "baseline_mean": mean}),
        )
    if decision.awaits_reward:
        policy.learn(decision, world.high)
        yield "a reward for a decision twice", lambda: policy.learn(decision, world.high)
    if world.dim is None:
        yield (
            "features nobody asked for",
            lambda: policy.decide(**{**good, "features": np.ones((2, 2))}),
        )
        return
    for what, features in _bad_features(world, good["features"]):
        yield what, partial(policy.decide, **{**good, "features": features})


def _bad_features(world: World, good: Any) -> Iterator[tuple[str, Any]]:
    yield "no features", None
    yield "features in one dimension", good[0]
    yield "features of another length", np.column_stack([good, good])
    yield "no action at all", good[:0]
    yield "features that are words", [["a"] * good.shape[1]] * len(good)
    for value in (math.nan, math.inf):
        bad = good.copy()
        bad[-1, 0] = value
        yield f"a feature {value}", bad
    if world.feature_bound is not None:
        bad = good.copy()
        bad[0] *= (1.001 * world.feature_bound + 1e-3) / np.linalg.norm(bad[0])
        yield "features above their bound", bad
