"""Incremental regression against solving the normal equations afresh."""

from __future__ import annotations

import numpy as np
import pytest

from handrail.bounds.ellipsoid import DETERMINANT
from handrail.estimators.contexts import (
    WAITING,
    add_rows,
    bound_contexts,
    complete_design,
    follow_total,
    lanes,
    learn_context,
    learn_known,
    load_features,
    rebuild_contexts,
)
from handrail.estimators.fixed import learn_fixed, play_fixed, rebuild_fixed
from handrail.estimators.symmetric import invert
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
    mean, cross, gram = np.zeros(arms), np.zeros(arms), np.zeros((arms, arms))
    log_det = rebuild_fixed(features, 0.5, plays, counts, sums, mean, gram, cross)
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
    again = rebuild_fixed(features, 0.5, plays, counts, sums, mean, gram, cross)
    assert again == pytest.approx(log_det, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(mean, fresh_mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gram, fresh_gram, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(cross, fresh_cross, rtol=1e-10, atol=1e-10)


def _matrix(dim: int, diagonal: float) -> Floats:
    """A multiple of the identity, its rows padded."""
    matrix = np.zeros((dim, padded(dim)))
    np.fill_diagonal(matrix, diagonal)
    return matrix


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 40])
def test_contexts_equal_the_normal_equations(dim: int) -> None:
    rng = np.random.default_rng(dim)
    ridge = 0.3
    ledger = new_record(LEDGER)
    design, inverse = _matrix(dim, ridge), _matrix(dim, 1.0 / ridge)
    waiting = np.zeros((WAITING, padded(dim)))
    response, theta, step = np.zeros((3, padded(dim)))
    rows, rewards = rng.standard_normal((4005, dim)), rng.standard_normal(4005)
    for row, reward in zip(rows, rewards, strict=True):
        learn_context(
            ledger[0], design, waiting, inverse, response, theta, step, row, float(reward)
        )
    complete_design(design, waiting)
    for padding in (design, inverse, response, theta):
        assert not padding[..., dim:].any()
    full = ridge * np.eye(dim) + rows.T @ rows
    np.testing.assert_allclose(design[:, :dim], full, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(inverse[:, :dim], np.linalg.inv(full), rtol=1e-7, atol=1e-13)
    np.testing.assert_allclose(theta[:dim], np.linalg.solve(full, rows.T @ rewards), atol=1e-12)
    assert (inverse[:, :dim] == inverse[:, :dim].T).all()
    assert (design[:, :dim] == design[:, :dim].T).all()
    fresh, fresh_theta = np.empty_like(inverse), np.empty_like(theta)
    log_det = rebuild_contexts(design, response, ridge, fresh, fresh_theta)
    np.testing.assert_allclose(inverse, fresh, rtol=1e-7, atol=1e-13)
    np.testing.assert_allclose(theta, fresh_theta, atol=1e-12)
    assert ledger["log_det"][0] == pytest.approx(log_det, rel=1e-11)


@pytest.mark.parametrize("dim", [1, 3, 8, 20])
def test_what_is_known_of_a_row_gives_the_same(dim: int) -> None:
    """Given phi' V^-1 phi and <theta_hat, phi>; V^-1 x follows, x the sum of the rows."""
    rng = np.random.default_rng(dim)
    ledger, rules = new_record(LEDGER), new_record(RULES, width=DETERMINANT)
    design, inverse = _matrix(dim, 0.3), _matrix(dim, 1.0 / 0.3)
    waiting = np.zeros((WAITING, padded(dim)))
    response, theta, step, weighed = np.zeros((4, padded(dim)))
    rows, rewards = rng.standard_normal((1000, dim)), rng.standard_normal(1000)
    state = (design, waiting, inverse, response, theta, step)
    added = rng.random(1000) < 0.7  # the others are only learned from, as baseline rounds are
    for i, (row, reward) in enumerate(zip(rows, rewards, strict=True)):
        square, mean = float(row @ inverse[:, :dim] @ row), float(theta[:dim] @ row)
        product = float(weighed[:dim] @ row)
        learn_known(rules[0], ledger[0], *state, row, float(reward), square, mean)
        follow_total(square, product, step, weighed, float(added[i]))
    full = 0.3 * np.eye(dim) + rows.T @ rows
    np.testing.assert_allclose(inverse[:, :dim], np.linalg.inv(full), rtol=1e-7, atol=1e-13)
    np.testing.assert_allclose(theta[:dim], np.linalg.solve(full, rows.T @ rewards), atol=1e-12)
    np.testing.assert_allclose(
        weighed[:dim], np.linalg.solve(full, rows[added].sum(axis=0)), atol=1e-12
    )
    assert not weighed[dim:].any()
    log_det = np.linalg.slogdet(full)[1] - dim * np.log(0.3)
    assert ledger["log_det"][0] == pytest.approx(log_det, rel=1e-11)


@pytest.mark.parametrize("dim", [1, 5, 8, 33])
def test_it_does_not_matter_when_rows_are_added(dim: int) -> None:
    """All at once, one by one, or every now and then: V has the same bits."""
    rows = np.random.default_rng(dim).standard_normal((WAITING, dim))
    found = []
    for every in (1, 3, WAITING):
        design, waiting = _matrix(dim, 0.7), np.zeros((WAITING, padded(dim)))
        for i, row in enumerate(rows):
            waiting[i, :dim] = row
            if (i + 1) % every == 0:
                add_rows(design, waiting)
        complete_design(design, waiting)
        assert not waiting.any()
        found.append(design)
    expected = 0.7 * np.eye(dim)
    for row in rows:
        expected += np.outer(row, row)
    for design in found:
        np.testing.assert_array_equal(design[:, :dim], expected)


@pytest.mark.parametrize(
    ("actions", "dim"), [(1, 1), (3, 2), (5, 9), (8, 4), (30, 33), (17, 15), (20, 20)]
)
def test_bounds_of_contexts(actions: int, dim: int) -> None:
    rng = np.random.default_rng([actions, dim])
    square = rng.standard_normal((dim, dim))
    inverse, theta = _matrix(dim, 0.0), np.zeros(padded(dim))
    inverse[:, :dim] = square @ square.T
    features, theta[:dim] = rng.standard_normal((actions, dim)), rng.standard_normal(dim)
    columns = np.empty((dim, lanes(actions)))
    assert load_features(features, 1e150, columns) == -1
    mean, norm, upper, lower = np.empty((4, lanes(actions)))
    beta = 0.7
    bound_contexts(beta, columns, inverse, theta, mean, norm, upper, lower)
    mean, norm, upper, lower = mean[:actions], norm[:actions], upper[:actions], lower[:actions]
    wanted = np.einsum("ki,ij,kj->k", features, inverse[:, :dim], features)
    np.testing.assert_allclose(mean, features @ theta[:dim], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(norm, wanted, rtol=1e-11)
    np.testing.assert_allclose(upper - lower, 2.0 * beta * np.sqrt(wanted), rtol=1e-11)


def test_a_row_that_is_not_fit_is_named() -> None:
    features = np.full((4, 3), 0.5)
    columns = np.empty((3, lanes(4)))
    assert load_features(features, np.sqrt(0.75), columns) == -1
    features[2, 1] = 0.5 + 1e-9
    assert load_features(features, np.sqrt(0.75), columns) == 2
    for value in (np.nan, np.inf, -np.inf):
        features[1, 2] = value
        assert load_features(features, 1e150, columns) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 8, 35, 100])
def test_the_inverse_is_the_inverse(size: int) -> None:
    rng = np.random.default_rng(size)
    root = rng.standard_normal((size, size))
    matrix = root @ root.T + 0.1 * np.eye(size)
    inverse = np.full((size, size), np.nan)
    log_det = invert(matrix, inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-8, atol=1e-10)
    assert log_det == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-10, abs=1e-12)
    assert (inverse == inverse.T).all()


def test_a_matrix_that_is_not_positive_definite_changes_nothing() -> None:
    inverse = np.full((2, 2), 7.0)
    assert np.isnan(invert(np.array([[1.0, 2.0], [2.0, 1.0]]), inverse))
    assert (inverse == 7.0).all()
    inverse, theta = np.full((2, 8), 7.0), np.full(8, 7.0)
    assert np.isnan(rebuild_contexts(-_matrix(2, 1.0), np.ones(8), 1.0, inverse, theta))
    assert (inverse == 7.0).all()
    assert (theta == 7.0).all()
