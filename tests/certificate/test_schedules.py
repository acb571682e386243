"""Schedules as text: what is read, when checks happen, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from handrail import InputError
from handrail.certificate.schedules import parse_schedule


def _checks(text: str, rounds: int, seed: int = 0) -> list[int]:
    found = parse_schedule(text).checkpoints(rounds, np.random.default_rng(seed))
    return [int(each) for each in found]


@pytest.mark.parametrize(
    ("text", "rounds", "wanted"),
    [
        ("every-round", 3, [1, 2, 3]),
        ("adversarial", 3, [1, 2, 3]),
        ("every:3", 10, [3, 6, 9]),
        ("every:3", 2, []),
        ("list:2,5", 7, [2, 5, 6, 7]),
        ("list: 4 ", 3, []),
        ("gaps:randint(3, 4)", 10, [3, 6, 9]),
        ("gaps:uniform(2.5,0.1)", 7, [2, 4, 6]),  # one that ends between rounds is cut
        ("gaps:randint(-5,-4)", 2, [1, 2]),  # no gap is shorter than a round
    ],
)
def test_checkpoints(text: str, rounds: int, wanted: list[int]) -> None:
    assert _checks(text, rounds) == wanted


def test_a_minimum_gap_is_kept_and_reached() -> None:
    gaps = np.diff([0, *_checks("min-gap:7", 2000)])
    assert gaps.min() == 7
    assert gaps.max() > 7


def test_random_gaps_follow_their_law_and_the_seed() -> None:
    """The mean of about 800 gaps is within 5 standard errors: a false alarm in 1.7 million."""
    gaps = np.diff([0, *_checks("gaps:poisson(25)", 20_000)])
    assert abs(gaps.mean() - 25.0) < 5 * 5.0 / np.sqrt(len(gaps))
    assert _checks("gaps:poisson(25)", 500, 1) == _checks("gaps:poisson(25)", 500, 1)
    assert _checks("gaps:poisson(25)", 500, 1) != _checks("gaps:poisson(25)", 500, 2)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("every:5", {"checkpoint_every": 5}),
        ("list:3,9", {"checkpoints": [3, 9]}),
        ("min-gap:4", {"checkpoint_gap": 4}),
        ("adversarial", {"checkpoint_gap": 1}),
        ("every-round", {"checkpoint_every": 1}),
    ],
)
def test_what_policies_are_told(text: str, parameters: dict[str, object]) -> None:
    assert parse_schedule(text).parameters() == parameters


@pytest.mark.parametrize(
    "text",
    [
        *("", "never", "every", "every:", "every:0", "every:-3", "every:1.5", "every:2,3"),
        *("list:", "list:3,3", "list:5,2", "list:0,1", "list:a", "min-gap:0", "every-round:3"),
        *("gaps:", "gaps:poisson", "gaps:poison(3)", "gaps:poisson(-1)", "gaps:poisson()"),
        *("gaps:poisson(1,2,3,4)", "gaps:__import__('os')", "gaps:norm(1);print(1)", "gaps:sys(1)"),
        "gaps:poisson(1e)",
        "gaps:uniform(2.5,0)",
    ],
)
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_schedule(text)
    assert caught.value.field == "schedule"
