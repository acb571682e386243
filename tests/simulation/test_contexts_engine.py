"""The simulator over contexts against the policies' rules.

The simulator learns with what the decision knew; policies compute it anew. Deterministic: the
false-alarm probability is 0.
"""

from __future__ import annotations

import pytest

from handrail.conservative.choice import ACTION, PROMISE
from handrail.counter import children, root
from handrail.environments.problem import ContextProblem
from handrail.environments.rewards import REWARDS, draw
from handrail.policies.context_model import ContextModel
from handrail.policies.contexts import decide_contexts, reward_contexts
from handrail.policies.room import ROOM
from handrail.simulation.blocks import entry
from handrail.simulation.experiment import Contender, Experiment
from handrail.vectors import aligned, padded

SEED, ACTIONS, DIM, ROUNDS = 3, 5, 4, 10_000


@pytest.mark.parametrize("width", ["paper", "determinant"])
@pytest.mark.parametrize("name", ["LinUCB", "CLUCB", "CLUCB-S", "CLUCB2", "CLUCB-Or"])
def test_the_same_actions_as_the_policies_rules(name: str, width: str) -> None:
    contender = Contender(name, {"ridge": 0.5, "width": width})
    common = {} if name == "LinUCB" else {"alpha": 0.6}
    drawing = {"actions": ACTIONS, "dim": DIM}
    experiment = Experiment(
        "contextual-linear", drawing, (contender,), ROUNDS, 1, 1, SEED, common, points=50
    )
    player = entry(experiment, contender, 0)
    _, _, played = player.play(0, trace=True)
    problem = player.problem
    assert isinstance(problem, ContextProblem)
    model = ContextModel(player.rules)
    room, columns = aligned(ROOM + DIM, padded(ACTIONS)), aligned(DIM, padded(ACTIONS))
    keys = children(root(SEED, 3, 0, 0), ACTIONS)
    features, means, baselines = problem.bring(0, 0, ROUNDS)
    learned = 0
    for now in range(ROUNDS):
        baseline = int(baselines[now])
        choice = decide_contexts(
            model.rules,
            model.ledger,
            features[now],
            columns,
            model.factor,
            model.vectors,
            means[now],
            model.gone,
            baseline,
            float(means[now, baseline]),
            float(means[now, baseline]),
            room,
        )
        action = choice[ACTION]
        assert action == played[now], f"round {now + 1}"
        if model.ledger["pending"][0] > 0:
            learned += 1
            reward = draw(
                REWARDS[problem.rewards], means[now, action], problem.noise, keys[action], now
            )
            reward_contexts(
                model.rules,
                model.ledger,
                model.factor,
                model.vectors,
                features[now, action],
                False,
                choice[PROMISE],
                reward,
            )
    assert learned > 1000
