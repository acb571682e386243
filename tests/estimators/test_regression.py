"""Incremental regression against solving the normal equations afresh."""

from __future__ import annotations

import numpy as np
import pytest

from handrail.bounds.ellipsoid import DETERMINANT
from handrail.estimators.contexts import (
    bound_contexts,
    lanes,
    learn_context,
    learn_known,
    lengths,
    load_features,
)
from handrail.estimators.factor import add_row, inner, whiten
from handrail.estimators.fixed import SHRUNK, learn_fixed, play_fixed, rebuild_fixed, worn
from handrail.records import LEDGER, RULES, Floats, new_record
from handrail.vectors import padded


@pytest.mark.parametrize(("arms", "dim"), [(1, 1), (2, 5), (30, 20), (12, 4)])
def test_arm_space_equals_the_normal_equations(arms: int, dim: int) -> None:
    """Plays and rewards apart, as with late rewards."""
    rng = np.random.default_rng([arms, dim])
    features = rng.standard_normal((arms, dim))
    if arms > 1:
        features[1] = 0.0  # an arm with zero features knows nothing and disturbs nothing
    ledger = new_record(LEDGER)
    plays, counts = np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    sums = np.zeros(arms)
    mean, cross, floors = np.zeros((3, arms))
    gram = np.zeros((arms, arms))
    log_det = rebuild_fixed(features, 0.5, plays, counts, sums, mean, gram, cross, floors)
    assert log_det == pytest.approx(0.0, abs=1e-12)
    waiting: list[int] = []
    for _ in range(3000):
        arm = int(rng.integers(arms))
        play_fixed(gram, plays, cross, arm)
        waiting.append(arm)
        while waiting and rng.random() < 0.6:
            settled = waiting.pop(int(rng.integers(len(waiting))))
            reward = float(rng.standard_normal())
            learn_fixed(ledger[0], mean, gram, cross, settled, reward)
            counts[settled] += 1
            sums[settled] += reward
    design = 0.5 * np.eye(dim) + features.T @ (counts[:, None] * features)
    fresh_gram = features @ np.linalg.solve(design, features.T)
    fresh_mean, fresh_cross = fresh_gram @ sums, fresh_gram @ plays
    log_det = float(np.linalg.slogdet(design / 0.5)[1])
    np.testing.assert_allclose(mean, fresh_mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(gram, fresh_gram, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(cross, fresh_cross, rtol=1e-9, atol=1e-9)
    assert ledger["log_det"][0] == pytest.approx(log_det, rel=1e-9, abs=1e-12)
    assert ledger["rows"][0] == counts.sum()
    again = rebuild_fixed(features, 0.5, plays, counts, sums, mean, gram, cross, floors)
    assert again == pytest.approx(log_det, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(mean, fresh_mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gram, fresh_gram, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(cross, fresh_cross, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(floors, SHRUNK * np.diag(gram))
    assert not worn(gram, floors)
    gram[0, 0] = 0.99 * floors[0]
    assert worn(gram, floors)


def test_an_arm_with_hardly_any_features_has_a_width() -> None:
    """Its square is too small for a double; that of an arm without features is 0."""
    features = np.array([[1e-200, 0.0], [0.0, 0.0], [1.0, 0.0]])
    plays, sums = np.array([0, 0, 3]), np.zeros(3)
    mean, cross, floors = np.zeros((3, 3))
    gram = np.zeros((3, 3))
    rebuild_fixed(features, 0.5, plays, plays, sums, mean, gram, cross, floors)
    assert (np.diag(gram) > 0.0).tolist() == [True, False, True]


def _matrix(dim: int, diagonal: float) -> Floats:
    """A multiple of the identity, its rows padded."""
    matrix = np.zeros((dim, padded(dim)))
    np.fill_diagonal(matrix, diagonal)
    return matrix


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 9, 40])
def test_the_factor_follows_its_rows(dim: int) -> None:
    """L^-1 (L^-1)' is the inverse of the sum; where a row is white 0, nothing changes."""
    rng = np.random.default_rng(dim)
    factor = _matrix(dim, 1.0 / np.sqrt(0.3))
    row, white, keep, turn, step = np.zeros((5, padded(dim)))
    design = 0.3 * np.eye(dim)
    for _ in range(300):
        row[:dim] = rng.standard_normal(dim) * (rng.random(dim) < 0.6)
        before = np.linalg.inv(design)
        whiten(factor, row, white)
        np.testing.assert_allclose(white[:dim], factor[:, :dim] @ row[:dim], rtol=1e-12, atol=1e-12)
        kept = factor[white[:dim] == 0.0].copy()
        square = 1.0 + float(row[:dim] @ before @ row[:dim])
        assert add_row(factor, white, keep, turn, step) == pytest.approx(square, rel=1e-11)
        np.testing.assert_allclose(step[:dim], before @ row[:dim], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(factor[white[:dim] == 0.0], kept)
        design += np.outer(row[:dim], row[:dim])
    root = factor[:, :dim]
    np.testing.assert_allclose(root.T @ root, np.linalg.inv(design), rtol=1e-9, atol=1e-13)
    assert not np.triu(factor, 1).any()
    assert not factor[:, dim:].any()


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 40])
def test_contexts_equal_the_normal_equations(dim: int) -> None:
    """A row as it comes, or what a decision knew of it: the same bits of the factor."""
    rng = np.random.default_rng(dim)
    ridge = 0.3
    rules = new_record(RULES, width=DETERMINANT)
    ledgers = new_record(LEDGER), new_record(LEDGER)
    factors = _matrix(dim, 1.0 / np.sqrt(ridge)), _matrix(dim, 1.0 / np.sqrt(ridge))
    thetas = np.zeros((2, padded(dim)))
    row, white, keep, turn, step = np.zeros((5, padded(dim)))
    room = (white, keep, turn, step)
    rows, rewards = rng.standard_normal((4005, dim)), rng.standard_normal(4005)
    for i, reward in enumerate(rewards):
        row[:dim] = rows[i]
        learn_context(ledgers[0][0], factors[0], thetas[0], row, *room, float(reward))
        whiten(factors[1], row, white)
        mean = inner(thetas[1], row)
        given = (ledgers[1][0], factors[1], thetas[1], *room, float(reward), mean)
        learn_known(rules[0], *given)
    full = ridge * np.eye(dim) + rows.T @ rows
    theta = np.linalg.solve(full, rows.T @ rewards)
    log_det = np.linalg.slogdet(full)[1] - dim * np.log(ridge)
    for factor, found, ledger in zip(factors, thetas, ledgers, strict=True):
        root = factor[:, :dim]
        np.testing.assert_allclose(root.T @ root, np.linalg.inv(full), rtol=1e-7, atol=1e-13)
        np.testing.assert_allclose(found[:dim], theta, atol=1e-12)
        assert ledger["log_det"][0] == pytest.approx(log_det, rel=1e-11)
        assert ledger["rows"][0] == 4005
        assert not factor[:, dim:].any()
        assert not found[dim:].any()
    np.testing.assert_array_equal(factors[0], factors[1])


@pytest.mark.parametrize(
    ("actions", "dim"), [(1, 1), (3, 2), (5, 9), (8, 4), (30, 33), (17, 15), (20, 20)]
)
def test_bounds_of_contexts(actions: int, dim: int) -> None:
    rng = np.random.default_rng([actions, dim])
    factor, theta, summed = _matrix(dim, 0.0), np.zeros(padded(dim)), np.zeros(padded(dim))
    factor[:, :dim] = np.tril(rng.standard_normal((dim, dim)))
    features, theta[:dim] = rng.standard_normal((actions, dim)), rng.standard_normal(dim)
    summed[:dim] = rng.standard_normal(dim)
    columns, white = np.empty((2, dim, lanes(actions)))
    assert load_features(features, 1e150, columns) == -1
    mean, norm, upper, lower, length = np.empty((5, lanes(actions)))
    beta = 0.7
    bound_contexts(beta, columns, factor, theta, white, mean, norm, upper, lower)
    lengths(summed, white, length)
    mean, norm, upper, lower = mean[:actions], norm[:actions], upper[:actions], lower[:actions]
    wanted = features @ factor[:, :dim].T
    np.testing.assert_allclose(white[:, :actions], wanted.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mean, features @ theta[:dim], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(norm, (wanted**2).sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(upper - lower, 2.0 * beta * np.sqrt(norm), rtol=1e-11)
    np.testing.assert_allclose(
        length[:actions], ((wanted + summed[:dim]) ** 2).sum(axis=1), rtol=1e-11
    )


def test_features_too_short_for_their_square_have_a_width() -> None:
    columns, white = np.empty((2, 1, lanes(1)))
    assert load_features(np.array([[1e-200]]), 1.0, columns) == -1
    mean, norm, upper, lower = np.empty((4, lanes(1)))
    bound_contexts(0.7, columns, _matrix(1, 1.0), np.zeros(8), white, mean, norm, upper, lower)
    assert lower[0] < 0.0 < upper[0]


def test_a_row_that_is_not_fit_is_named() -> None:
    features = np.full((4, 3), 0.5)
    columns = np.empty((3, lanes(4)))
    assert load_features(features, np.sqrt(0.75), columns) == -1
    features[2, 1] = 0.5 + 1e-9
    assert load_features(features, np.sqrt(0.75), columns) == 2
    for value in (np.nan, np.inf, -np.inf):
        features[1, 2] = value
        assert load_features(features, 1e150, columns) == 1
