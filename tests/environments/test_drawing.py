"""How problems are drawn, against a transcription and against what is promised of them.

Seeds are fixed. Random statements fail by chance with the probability given next to them.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from scipy import stats

from handrail.environments.bernoulli import Bernoulli
from handrail.environments.contextual import ContextualLinear
from handrail.environments.jester import jester_matrix, load_jester
from handrail.environments.linear import Linear
from handrail.environments.problem import FixedProblem
from handrail.environments.ratings import Ratings, factorise
from handrail.environments.registry import make_environment
from handrail.records import Floats
from oracle import drawing

SEEDS = [0, 1, 2**63 - 1]


def _consistent(problem: FixedProblem, theta: Floats) -> None:
    """The best mean is 1, the worst 0, means are linear, B is |theta|."""
    assert problem.means.max() == pytest.approx(1.0, abs=1e-12)
    assert problem.means.min() == 0.0
    assert problem.means.max() <= 1.0
    np.testing.assert_allclose(problem.rows() @ theta, problem.means, atol=1e-9)
    assert problem.theta_bound == pytest.approx(np.linalg.norm(theta), rel=1e-9)


# ---------------------------------------------------------------- bernoulli


@pytest.mark.parametrize("seed", SEEDS)
def test_bernoulli(seed: int) -> None:
    for index, (arms, low, high, rank) in enumerate(
        [(10, 0.25, 0.75, 4), (3, 0.0, 1.0, 1), (1, 0.5, 0.5, 1), (6, 0.2, 0.9, 6)]
    ):
        problem = Bernoulli(arms, low, high, rank).problem(seed, index)
        expected = drawing.bernoulli(seed, index, arms, low, high)
        np.testing.assert_array_equal(problem.means, expected)
        np.testing.assert_array_equal(problem.rows(), np.eye(arms))
        assert problem.baseline == drawing.of_rank(expected, rank)
        assert problem.theta_bound == pytest.approx(np.linalg.norm(expected))
        assert (problem.rewards, problem.noise) == ("bernoulli", 0.5)


def test_bernoulli_means_are_uniform() -> None:
    """Kolmogorov and Smirnov, false alarm 1e-6."""
    environment = Bernoulli()
    means = np.concatenate([environment.problem(0, index).means for index in range(500)])
    assert stats.kstest(means, stats.uniform(0.25, 0.5).cdf).pvalue > 1e-6


def test_equal_means_rank_by_index() -> None:
    for rank in (1, 2, 3):
        assert Bernoulli(3, 0.5, 0.5, rank).problem(0, 0).baseline == rank - 1


# ---------------------------------------------------------------- linear


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("arms", "dim", "rank"), [(30, 100, 6), (4, 2, 1), (2, 5, 2), (12, 3, 12)])
def test_linear(seed: int, arms: int, dim: int, rank: int) -> None:
    for index in range(2):
        problem = Linear(arms, dim, rank).problem(seed, index)
        expected = drawing.linear(seed, index, arms, dim)
        np.testing.assert_allclose(problem.rows(), expected.features, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(problem.means, expected.means, atol=1e-9)
        assert problem.baseline == drawing.of_rank(expected.means, rank)
        assert (problem.rewards, problem.noise) == ("gaussian", 0.1)
        _consistent(problem, expected.theta)


def test_linear_as_in_the_paper() -> None:
    """Lengths of theta uniform in [1/2, 1] (false alarm 1e-6); norms of features about 5 to 20."""
    environment = Linear()
    problems = [environment.problem(0, index) for index in range(200)]
    bounds = [problem.theta_bound for problem in problems]
    assert stats.kstest(bounds, stats.uniform(0.5, 0.5).cdf).pvalue > 1e-6
    largest = [np.linalg.norm(problem.rows(), axis=1).max() for problem in problems]
    print(f"largest norms: {np.percentile(largest, [0, 5, 50, 95, 100]).round(1)}")
    assert 4 < np.median(largest) < 20
    assert all((problem.means == 0).sum() == 1 for problem in problems)


def test_theta_points_anywhere() -> None:
    """Each coordinate of theta has mean 0: 5 coordinates, 4.9 standard errors, false alarm 5e-6.

    Of a direction in 5 dimensions a coordinate has variance 1/5; E length^2 = 7/12.
    """
    thetas = np.array([drawing.linear(3, index, 2, 5).theta for index in range(400)])
    errors = np.sqrt(7 / 12 / 5 / len(thetas))
    assert np.abs(thetas.mean(axis=0) / errors).max() < 4.9


# ---------------------------------------------------------------- contextual-linear


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("actions", "dim", "signal", "perturbation"),
    [(20, 20, 0.4, 1.0), (1, 2, 0.5, 0.0), (3, 2, 0.1, 5.0), (7, 9, 0.3, 0.2)],
)
def test_contextual(seed: int, actions: int, dim: int, signal: float, perturbation: float) -> None:
    environment = ContextualLinear(actions, dim, signal, perturbation)
    problem = environment.problem(seed, 1)
    theta = drawing.contextual_theta(seed, 1, dim, signal)
    assert problem.theta_bound == pytest.approx(np.linalg.norm(theta))
    for run, start in [(0, 0), (3, 1000)]:
        brought = problem.contexts(run, start, start + 5)
        for i in range(5):
            expected = drawing.contextual(
                seed, 1, run, start + i, actions, dim, signal, perturbation
            )
            np.testing.assert_allclose(brought.features[i], expected.features, atol=1e-12)
            np.testing.assert_allclose(brought.means[i], expected.means, atol=1e-12)
            assert brought.baselines[i] == expected.baseline


def test_contextual_keeps_its_bounds() -> None:
    """Over many rounds: means in [0, 1], norms at most D, the baseline's mean at least mu_l."""
    for signal in (0.1, 0.4, 0.5):
        problem = ContextualLinear(6, 3, signal, 2.0).problem(5, 0)
        brought = problem.contexts(0, 0, 5000)
        assert 0 <= brought.means.min() <= brought.means.max() <= 1
        norms = np.linalg.norm(brought.features, axis=2)
        assert norms.max() <= problem.feature_bound * (1 + 1e-12)
        chosen = brought.means[np.arange(5000), brought.baselines]
        assert chosen.min() >= problem.baseline_lower - 1e-12
        assert len(set(brought.baselines.tolist())) == 6


def test_a_baseline_without_error_is_the_best() -> None:
    brought = ContextualLinear(8, 5, 0.4, 0.0).problem(0, 0).contexts(0, 0, 300)
    np.testing.assert_array_equal(brought.baselines, brought.means.argmax(axis=1))


def test_a_baseline_that_errs_is_better_than_chance_and_not_the_best() -> None:
    """Its mean, averaged over 5000 rounds, lies well between those of the average and the best."""
    brought = ContextualLinear().problem(0, 0).contexts(0, 0, 5000)
    own = brought.means[np.arange(5000), brought.baselines].mean()
    assert brought.means.mean() + 0.05 < own < brought.means.max(axis=1).mean() - 0.01


def test_contexts_are_a_pure_function_of_run_and_round() -> None:
    """Any portions give the same bits; other runs, problems and seeds give others."""
    environment = ContextualLinear(4, 6)
    problem = environment.problem(0, 0)
    whole = problem.contexts(2, 0, 50)
    again = environment.problem(0, 0)
    for edges in ([0, 1, 2, 50], [0, 17, 50], [*range(51)]):
        parts = [again.contexts(2, a, b) for a, b in pairwise(edges)]
        for name in whole._fields:
            joined = np.concatenate([getattr(part, name) for part in parts])
            assert joined.tobytes() == getattr(whole, name).tobytes()
    strangers = [
        problem.contexts(1, 0, 50),
        environment.problem(0, 1).contexts(2, 0, 50),
        environment.problem(1, 0).contexts(2, 0, 50),
    ]
    varying = slice(None, -1)  # the last feature is constant
    for other in strangers:
        assert not np.isin(other.features[..., varying], whole.features[..., varying]).any()


# ---------------------------------------------------------------- ratings


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(80)
    path: Path = tmp_path_factory.mktemp("ratings") / "table.csv"
    np.savetxt(path, rng.normal(size=(40, 9)) + rng.normal(size=9), delimiter=",", fmt="%.17g")
    return path


@pytest.mark.parametrize("rank", [2, 5, 9])
def test_ratings(table: Path, rank: int) -> None:
    ratings = np.loadtxt(table, delimiter=",")
    for seed in SEEDS:
        environment = Ratings(str(table), rank, 3)
        order = drawing.ratings_order(seed, len(ratings))
        for index in (0, 1, 39):
            problem = environment.problem(seed, index)
            expected = drawing.ratings(ratings, rank, order[index])
            np.testing.assert_allclose(problem.means, expected.means, atol=1e-9)
            # Directions of factors are free; inner products are not.
            np.testing.assert_allclose(
                problem.rows() @ problem.rows().T,
                expected.features @ expected.features.T,
                rtol=1e-8,
                atol=1e-8,
            )
            assert problem.theta_bound == pytest.approx(np.linalg.norm(expected.theta), rel=1e-9)
            assert problem.baseline == drawing.of_rank(expected.means, 3)
            assert problem.rows().shape == (9, rank)


def test_no_user_comes_twice_and_seeds_differ(table: Path) -> None:
    environment = Ratings(str(table), 3, 2)
    orders = []
    for seed in SEEDS:
        bounds = [environment.problem(seed, index).theta_bound for index in range(40)]
        assert len(set(bounds)) == 40
        orders.append(bounds)
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]
    with pytest.raises(ValueError, match="problems: the table has 40 users"):
        environment.problem(0, 40)


def test_users_who_rate_all_alike_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    np.savetxt(path, [[1, 2, 3], [2, 2, 2], [3, 1, 2], [0, 0, 0]], delimiter=",")
    environment = Ratings(str(path), 3, 1)
    for index in range(2):
        assert environment.problem(0, index).means.max() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="the table has 2 users"):
        environment.problem(0, 2)


def test_a_table_may_have_more_items_than_users(tmp_path: Path) -> None:
    ratings = np.random.default_rng(81).normal(size=(4, 11))
    path = tmp_path / "wide.csv"
    np.savetxt(path, ratings, delimiter=",", fmt="%.17g")
    problem = Ratings(str(path), 4, 1).problem(0, 0)
    expected = drawing.ratings(ratings, 4, drawing.ratings_order(0, 4)[0])
    np.testing.assert_allclose(problem.means, expected.means, atol=1e-9)


@pytest.mark.skipif("HANDRAIL_JESTER" not in os.environ, reason="HANDRAIL_JESTER is not set")
def test_jester() -> None:
    """The paper's problems: K = 40, d = 35, the 10th best joke, and the known error of rank 35."""
    ratings = jester_matrix(load_jester())
    assert ratings.shape == (19181, 40)
    users, items = factorise(ratings, 35)
    assert np.sqrt(np.mean((ratings - users @ items.T) ** 2)) == pytest.approx(0.1116885155)
    environment = cast(Ratings, make_environment("ratings"))
    order = drawing.ratings_order(0, len(ratings))
    left, values, right = np.linalg.svd(ratings, full_matrices=False)
    seen = set()
    for index in range(3):
        problem = environment.problem(0, index)
        theta = left[order[index], :35] * values[:35]
        expected = drawing.shifted(right[:35].T, theta)
        np.testing.assert_allclose(problem.means, expected.means, atol=1e-8)
        assert problem.rows().shape == (40, 35)
        assert (problem.means > problem.means[problem.baseline]).sum() == 9
        assert problem.means.max() == pytest.approx(1.0)
        assert problem.theta_bound == pytest.approx(np.linalg.norm(theta), rel=1e-8)
        seen.add(problem.theta_bound)
    assert len(seen) == 3


# ---------------------------------------------------------------- all


@pytest.mark.parametrize("name", ["bernoulli", "linear"])
def test_problems_are_functions_of_seed_and_index(name: str) -> None:
    first, second = make_environment(name), make_environment(name)
    one = cast(FixedProblem, first.problem(4, 2))
    first.problem(4, 1)
    other = cast(FixedProblem, second.problem(4, 2))
    assert one.means.tobytes() == other.means.tobytes()
    assert one.rows().tobytes() == other.rows().tobytes()
    for seed, index in [(4, 3), (5, 2)]:
        stranger = cast(FixedProblem, first.problem(seed, index))
        assert one.means.tobytes() != stranger.means.tobytes()
