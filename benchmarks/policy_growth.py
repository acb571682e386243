"""Growth: a round costs the same after 100,000 rounds as after 1,000, and nothing piles up."""

from __future__ import annotations

import copy
import gc
import tempfile
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import handrail
from benchmarks import arms, contexts
from benchmarks.measure import Row, interleave, median, ratio, timed

MARKS = (1_000, 10_000, 100_000)
BLOCK, REPETITIONS = 1_000, 15
ACTIONS, DIM, POOL = 10, 20, 500
SLOWER = 1.3
"""Allowed between the first mark and the last: the ratio of the times of a round,"""
LEAK = 0.1
"""bytes of memory more for each round between them (one object kept a round would be 28),"""
LARGER = 1.02
"""and the ratio of the sizes of the saved file (a larger counter has more digits)."""

Play = Callable[[handrail.Policy, int], object]


def _players() -> dict[str, tuple[Callable[[], handrail.Policy], Play]]:
    rewards = arms.draw_rewards(POOL)
    drawn = contexts.draw(ACTIONS, DIM, POOL)
    return {
        f"CUCB2, K={arms.ARMS}": (
            arms.make_cucb2,
            lambda policy, rounds: [arms.play(policy, rewards) for _ in range(rounds // POOL)],
        ),
        f"CLUCB2, contexts K={ACTIONS} d={DIM}": (
            lambda: contexts.make("CLUCB2", DIM),
            lambda policy, rounds: contexts.play(policy, *drawn, rounds),
        ),
    }


def _sizes(policy_at: Callable[[], handrail.Policy], play: Play) -> tuple[list[int], list[int]]:
    """Return the bytes held and the bytes saved at every mark; this run is not timed."""
    held, saved, played = [], [], 0
    play(policy_at(), POOL)  # what is made at the first call only is not the policy's
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.handrail"
        policy_at().save(file)
        gc.collect()
        tracemalloc.start()
        try:
            policy = policy_at()
            for mark in MARKS:
                play(policy, mark - played)
                played = mark
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
                policy.save(file)
                saved.append(file.stat().st_size)
        finally:
            tracemalloc.stop()
    return held, saved


def _seconds(policy_at: Callable[[], handrail.Policy], play: Play) -> dict[str, list[float]]:
    """Time blocks of rounds in turn, on copies taken at the marks."""
    policy, copies, played = policy_at(), {}, 0
    for mark in MARKS:
        play(policy, mark - played)
        played = mark
        copies[str(mark)] = copy.deepcopy(policy)

    def block(policy: handrail.Policy) -> float:
        return timed(lambda: play(policy, BLOCK))

    return interleave({mark: partial(block, each) for mark, each in copies.items()}, REPETITIONS)


def rows() -> list[Row]:
    """Measure."""
    first, last = str(MARKS[0]), str(MARKS[-1])
    found = []
    for name, (policy_at, play) in _players().items():
        group = f"growth of {name}"
        seconds = _seconds(policy_at, play)
        found += [
            Row(group, f"time after {int(mark):,} rounds", median(seconds[mark], BLOCK), "us/round")
            for mark in seconds
            if mark != last
        ]
        found.append(
            Row(
                group,
                f"time after {int(last):,} rounds",
                median(seconds[last], BLOCK),
                "us/round",
                f"after {int(first):,}",
                ratio(seconds[last], seconds[first]),
                SLOWER,
            )
        )
        held, saved = _sizes(policy_at, play)
        found.append(
            Row(
                group,
                f"memory, per round after {int(first):,}",
                (held[-1] - held[0]) / (MARKS[-1] - MARKS[0]),
                "bytes",
                limit=LEAK,
                note=" -> ".join(f"{size:,}" for size in held),
            )
        )
        found.append(
            Row(
                group,
                f"saved file after {int(last):,} rounds",
                saved[-1],
                "bytes",
                f"after {int(first):,}",
                saved[-1] / saved[0],
                LARGER,
                note=" -> ".join(f"{size:,}" for size in saved),
            )
        )
    return found
