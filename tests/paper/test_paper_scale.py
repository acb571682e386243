"""The two scales, and what is run at them."""

from __future__ import annotations

import pytest

from handrail.errors import InputError
from handrail.paper.claims import CLAIMS
from handrail.paper.figures import FIGURES, chosen
from handrail.paper.scale import PAPER, QUICK, SCALES, Scale, Size, checkpoint_gaps, scale_note
from paper_tables import TINY


def test_paper_scale_is_the_papers() -> None:
    assert PAPER.mab == Size(70, 40, 10**6)
    assert PAPER.linear == Size(70, 40, 20_000)
    assert PAPER.checkpoint_mab == PAPER.checkpoint_linear == Size(70, 40, 20_000)
    assert PAPER.jester == Size(100, 5, 10**5)
    assert PAPER.contextual == Size(20, 20, 10_000)
    assert PAPER.widths == Size(70, 40, 10**5)
    assert PAPER.theory == Size(1, 40, 10**7)
    assert PAPER.ablation_mab == Size(70, 10, 2 * 10**5)
    assert PAPER.ablation_linear == Size(70, 10, PAPER.linear.rounds)
    assert PAPER.ablation_jester == Size(100, 2, PAPER.jester.rounds)
    assert len(checkpoint_gaps(20_000, PAPER.gaps)) == 15


def test_all_figures_in_the_order_of_the_registry() -> None:
    assert list(FIGURES) == [
        *("oracle-mab", "mab", "linear", "e2-share", "checkpoint-mab", "checkpoint-linear"),
        *("jester", "budget-mab", "budget-linear", "budget-jester", "contextual", "widths"),
        *("theory", "guard", "ablation"),
    ]
    assert [plan.name for plan in chosen([])] == list(FIGURES)


def test_an_unknown_figure_gets_near_names() -> None:
    with pytest.raises(InputError, match="did you mean budget-mab"):
        chosen(["mab", "budgt-mab"])


@pytest.mark.parametrize("scale", [QUICK, PAPER])
def test_settings_of_every_experiment(scale: Scale) -> None:
    for plan in FIGURES.values():
        for experiment in plan.experiments(scale, 3):
            own = experiment.labels.get("environment")
            size = scale.size(f"ablation_{own}" if own else plan.size)
            assert (experiment.problems, experiment.runs) == (size.problems, size.runs)
            assert experiment.rounds == size.rounds
            assert experiment.seed == 3
            policy = experiment.policy
            assert policy["accounting"] == ("union" if plan.name == "guard" else "paper")
            assert policy["clip"] == "zero"
            assert policy["delta"] == 0.01
            assert policy["alpha"] == (0.01 if experiment.environment == "ratings" else 0.05)
            assert policy.get("ridge", 0.5) == 0.5


def test_figures_of_the_same_runs_share_them() -> None:
    for other, own in (("budget-mab", "mab"), ("budget-linear", "linear")):
        assert FIGURES[other].experiments(TINY, 0) == FIGURES[own].experiments(TINY, 0)
    oracle, mab = (FIGURES[name].experiments(TINY, 0)[0] for name in ("oracle-mab", "mab"))
    assert set(map(str, oracle.contenders)) < set(map(str, mab.contenders))
    assert (oracle.rounds, oracle.policy, oracle.points) == (mab.rounds, mab.policy, mab.points)


def test_the_scale_is_said_beside_the_papers() -> None:
    assert "quick scale: 12 problems × 8 runs, n = 100,000" in scale_note(QUICK, "mab")
    assert "(paper: 70 × 40, 1,000,000)" in scale_note(QUICK, "mab")
    assert list(SCALES) == ["quick", "paper"]


def test_claims_name_existing_figures() -> None:
    assert [each.id for each in CLAIMS] == [
        *("mab-reduction", "mab-order", "linear-reduction", "linear-martingale", "always-better"),
        *("e2-share", "checkpoints", "jester-half", "safe"),
    ]
    for statement in CLAIMS:
        assert set(statement.figures) | set(statement.also) <= set(FIGURES)
