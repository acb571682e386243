"""A run that is told to stop gives up soon, and leaves nothing half counted."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from handrail.simulation.blocks import entry
from handrail.simulation.experiment import Contender, Experiment
from handrail.simulation.stop import Interrupted, Stop

LONG = 10**9
"""Rounds that take minutes to hours: a run that does not stop hangs the test."""


@pytest.mark.parametrize(
    ("environment", "name", "parameters"),
    [
        ("bernoulli", "CUCB2", {}),
        ("linear", "CLUCB2", {"arms": 3, "dim": 2, "baseline_rank": 2}),
        ("linear", "LinUCB", {}),
        ("contextual-linear", "CLUCB2", {"actions": 3, "dim": 2}),
    ],
)
def test_in_the_middle_of_a_run(environment: str, name: str, parameters: dict[str, Any]) -> None:
    experiment = Experiment(environment, parameters, (Contender(name),), LONG, 1, 1, 0, points=1)
    player = entry(experiment, experiment.contenders[0], 0)
    stop, ended = Stop(), threading.Event()

    def play() -> None:
        with pytest.raises(Interrupted):
            player.play(0, stop=stop)
        ended.set()

    threading.Thread(target=play, daemon=True).start()
    assert not ended.wait(0.5)
    stop.set()
    assert ended.wait(60.0)


def test_before_it_begins() -> None:
    experiment = Experiment("bernoulli", {}, (Contender("UCB"),), 100, 1, 1, 0)
    stop = Stop()
    stop.set()
    with pytest.raises(Interrupted):
        entry(experiment, experiment.contenders[0], 0).play(0, stop=stop)
