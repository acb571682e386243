"""When checkpoints come: slack by hand, quantiles of gaps, reports."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from handrail import InputError, Policy
from handrail.policies.gaps import GapLaw
from support import make, play, state


def margin(policy: Policy) -> float:
    return float(policy.explain().explanation["most_optimistic"]["margin"])


def gaps(**changes: Any) -> Policy:
    """alpha 0.25, mu_b 0.55, mu_l 0.3; arms of which nothing is known."""
    return make("CUCB2T", "arms", checkpoint_every=None, **changes)


def need(s: int, t: int) -> float:
    return 0.55 * (s + 1 - 0.25 * t)


def test_a_list_of_checkpoints() -> None:
    policy = gaps(checkpoints=[4, 6])
    for now, left in ((1, 3), (2, 2), (3, 1), (4, 0), (5, 1), (6, 0), (7, 0), (8, 0)):
        ledger = policy._state.model.ledger[0]
        s = int(ledger["plays"])
        promised = float(ledger["waived"])
        assert margin(policy) == pytest.approx(promised + 0.25 * 0.3 * left - need(s, now)), now
        decision = policy.decide()
        if decision.awaits_reward:
            policy.close(decision)


def test_every_t_as_a_list_is_every_t() -> None:
    every = make("CUCB2T", "arms")
    listed = gaps(checkpoints=list(range(10, 1000, 10)))
    assert [d.margin for d in play(every, 300)] == [d.margin for d in play(listed, 300)]


def test_a_minimum_gap_and_reports() -> None:
    policy = gaps(checkpoint_gap=4)
    assert margin(policy) == pytest.approx(0.25 * 0.3 * 3 - need(0, 1))
    for _ in range(6):
        policy.close(decision) if (decision := policy.decide()).awaits_reward else None
    s = int(policy._state.model.ledger["plays"][0])
    # Round 7, no checkpoint was reported since the start: it may be any round from 4 on.
    assert margin(policy) == pytest.approx(-need(s, 7))
    assert policy.checkpoint() == 1
    # It was round 6, so the next is no sooner than 10.
    assert margin(policy) == pytest.approx(0.25 * 0.3 * 3 - need(s, 7))
    before = state(policy)
    with pytest.raises(InputError, match="no new one"):
        policy.checkpoint()
    assert state(policy) == before


def test_adversarial_is_every_round() -> None:
    row = make("CUCB2", "arms")
    adversarial = gaps(checkpoint_gap=1)
    for now in range(200):
        a, b = row.decide(), adversarial.decide()
        assert (a.action, a.event) == (b.action, b.event)
        assert a.margin == pytest.approx(b.margin)
        if now % 3 == 0:
            adversarial.checkpoint()
        for policy, decision in ((row, a), (adversarial, b)):
            policy.learn(decision, 0.75)


LAWS: dict[str, tuple[Any, tuple[float, ...], tuple[float, ...]]] = {
    "poisson": (stats.poisson, (50,), ()),
    "poisson and a half": (stats.poisson, (50,), (0.5,)),
    "geom": (stats.geom, (0.03,), ()),
    "geom, late": (stats.geom, (0.03,), (12.75,)),
    "randint": (stats.randint, (20, 80), ()),
    "randint and a quarter": (stats.randint, (5, 9), (0.25,)),
    "randint, nearly whole": (stats.randint, (5, 9), (-1e-17,)),
    "binom, nearly whole": (stats.binom, (40, 0.4), (-1e-13,)),
    "nbinom": (stats.nbinom, (3, 0.1), (0.999,)),
    "skellam, also below 1": (stats.skellam, (9, 4), (0.5,)),
    "hypergeom": (stats.hypergeom, (60, 20, 30), (3.25,)),
    "uniform": (stats.uniform, (), (10, 41)),
    "gamma": (stats.gamma, (9,), (0, 4)),
    "norm, also below 1": (stats.norm, (), (30, 12)),
    "lognorm": (stats.lognorm, (0.5,), (2.5, 20)),
    "norminvgauss": (stats.norminvgauss, (1.0, 0.5), (40, 8)),
}
"""A family of scipy.stats, its shapes, and where it was moved to (and how wide it was made)."""


def shorter(name: str, q: int) -> float:
    """P(T < q) from the density alone: the atoms below q, or the integral up to q."""
    family, shapes, place = LAWS[name]
    if not hasattr(family, "pmf"):
        law = family(*shapes, *place)
        return float(integrate.quad(law.pdf, -200, q, points=[0.0, 10.0], epsabs=0, limit=500)[0])
    moved = sum(map(Fraction, place))
    return math.fsum(family.pmf([k for k in range(-50, q + 50) if k + moved < q], *shapes))


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_of_gaps(name: str) -> None:
    """The largest q with P(T < q) <= delta, or 1: a gap is no shorter."""
    family, shapes, place = LAWS[name]
    for delta in (1e-6, 1e-3, 0.02, 0.25, 0.6):
        q = GapLaw(family(*shapes, *place)).quantile(delta)
        assert q == 1 or shorter(name, q) <= delta, delta
        assert shorter(name, q + 1) > delta, delta


def test_parameters_of_a_law_by_name() -> None:
    by_place = GapLaw(stats.randint(20, 30, 0.125))
    by_name = GapLaw(stats.randint(high=30, low=20, loc=0.125))
    assert by_place.quantile(0.35) == by_name.quantile(0.35) == 23
    assert GapLaw({"law": "poisson", "args": [], "kwds": {"mu": 50}}).quantile(0.1) == 41


@pytest.mark.parametrize("name", LAWS)
def test_gaps_are_hardly_ever_shorter_than_their_quantile(name: str) -> None:
    """Of 100,000 gaps at delta = 0.1, 5 standard deviations more are a false alarm in 3 million."""
    family, shapes, place = LAWS[name]
    law = family(*shapes, *place)
    q = GapLaw(law).quantile(0.1)
    gaps = np.maximum(np.floor(law.rvs(100_000, random_state=7)), 1)
    assert (gaps < q).sum() <= 100_000 * 0.1 + 5 * math.sqrt(100_000 * 0.1 * 0.9)


def test_quantiles_that_ppf_misses() -> None:
    """A law whose ppf fails, or is off by far, has the same quantiles: the cdf is asked."""
    wanted = [GapLaw(stats.poisson(50)).quantile(delta) for delta in (1e-9, 0.1, 0.9)]
    for answer in (math.nan, math.inf, -math.inf, 1.0, 47.0, 1e7, -1e300):
        law = GapLaw(stats.poisson(50))
        law._law.ppf = lambda _, answer=answer: answer
        assert [law.quantile(delta) for delta in (1e-9, 0.1, 0.9)] == wanted, answer


def test_a_quantile_is_at_least_1_whatever_ppf_says() -> None:
    """Of gaps that are 0 half the time, which take a round all the same."""
    for answer in (math.nan, math.inf, -math.inf, 0.0):
        law = GapLaw(stats.randint(0, 2))
        law._law.ppf = lambda _, answer=answer: answer
        assert law.quantile(0.1) == 1, answer


def test_a_sample_is_its_own_law() -> None:
    law = GapLaw([30, 10, 20, 40, 50, 60, 70, 80, 90, 100])
    # P(T >= q) >= 0.8: two of the ten may be shorter.
    assert law.quantile(0.2) == 30
    assert law.quantile(0.19) == 20
    assert law.quantile(0.05) == 10
    # Of gaps that end between two rounds only the whole rounds count.
    assert GapLaw([30.5, 30.9, 31.0, 40.0]).quantile(0.5) == 31
    assert GapLaw([30.5, 30.9, 31.0, 40.0]).quantile(0.49) == 30


def test_random_gaps_share_delta_and_come_back(tmp_path: Any) -> None:
    import handrail

    policy = gaps(checkpoint_gap=stats.poisson(30))
    assert policy.failure_probability == pytest.approx(0.1)
    shared = policy._settings.schedule
    assert shared is not None
    assert shared.delta == pytest.approx(0.1 / 3)
    play(policy, 25)
    policy.checkpoint()
    first = stats.poisson(30).ppf(6 * shared.delta / math.pi**2)
    assert abs(shared.assured(0, 0) - first) <= 1
    policy.save(tmp_path / "p")
    again = handrail.load_policy(tmp_path / "p")
    assert state(again) == state(policy)
    assert margin(again) == margin(policy)


@pytest.mark.parametrize("rounds", [0, 12])
@pytest.mark.parametrize(
    "schedule",
    [{"checkpoints": [10, 20]}, {"checkpoint_gap": stats.poisson(50)}, {"checkpoint_gap": 30}],
    ids=["list", "law", "minimum"],
)
def test_bad_features_do_not_move_the_next_checkpoint(
    schedule: dict[str, Any], rounds: int
) -> None:
    policy = make("CLUCB2T", "dim", checkpoint_every=None, **schedule)
    play(policy, rounds)
    before = policy.to_bytes()
    for bad in (np.nan, 100.0):
        with pytest.raises(InputError, match="features"):
            policy.decide(
                features=[[0.5, 0.0, 0.0], [bad, 0.0, 0.0]], baseline=0, baseline_mean=0.4
            )
        assert policy.to_bytes() == before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "checkpoint_every"),
        ({"checkpoints": [5, 4]}, "checkpoints"),
        ({"checkpoints": [4, 4]}, "checkpoints"),
        ({"checkpoints": [0, 4]}, "checkpoints"),
        ({"checkpoints": [1.5]}, "checkpoints"),
        ({"checkpoints": []}, "checkpoints"),
        ({"checkpoint_gap": 0}, "checkpoint_gap"),
        ({"checkpoint_gap": "soon"}, "checkpoint_gap"),
        ({"checkpoint_gap": [0.5, 3.0]}, "checkpoint_gap"),
        ({"checkpoint_gap": {"law": "poison", "args": [3]}}, "checkpoint_gap"),
        ({"checkpoint_gap": {"law": "poisson", "args": [-3]}}, "checkpoint_gap"),
        ({"checkpoint_gap": 5, "checkpoints": [5]}, "checkpoint_gap"),
    ],
)
def test_bad_schedules(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        gaps(**changes)
    assert caught.value.field == field


def test_only_gaps_are_reported() -> None:
    for policy in (make("CUCB2T", "arms"), make("CUCB2", "arms"), gaps(checkpoints=[5])):
        policy.decide()
        with pytest.raises(InputError, match="checkpoint_gap"):
            policy.checkpoint()


def test_gaps_are_drawn_from_their_law() -> None:
    """Rounded down, and at least 1."""
    random = np.random.default_rng(1)
    drawn = [GapLaw(25).draw(random) for _ in range(200)]
    assert min(drawn) == 25
    assert max(drawn) > 25
    assert {GapLaw([3, 5]).draw(random) for _ in range(100)} == {3, 5}
    assert {GapLaw(stats.randint(5, 9)).draw(random) for _ in range(200)} == {5, 6, 7, 8}
    assert {GapLaw(stats.uniform(0, 3)).draw(random) for _ in range(200)} == {1, 2}


def test_a_checkpoint_sooner_than_agreed_is_refused() -> None:
    policy = gaps(checkpoint_gap=50)
    play(policy, 20)
    before = state(policy)
    with pytest.raises(InputError, match="sooner than the agreed gap"):
        policy.checkpoint()
    assert state(policy) == before


class Early(stats.rv_continuous):  # type: ignore[misc]
    """Half of the gaps are 10 rounds and half 100, shifted by 50 and called like scipy's normal."""

    def _cdf(self, x: Any) -> Any:
        return np.where(x < -40.0, 0.0, np.where(x < 50.0, 0.5, 1.0))

    def _ppf(self, q: Any) -> Any:
        return np.where(q < 0.5, -40.0, 50.0)


@pytest.mark.parametrize(
    "law",
    [
        stats.poisson,
        Early(name="norm")(loc=50),
        stats.rv_discrete(name="poisson", values=([10, 20], [0.5, 0.5]))(),
        type(stats.norm)(name="norm", a=-10.0, b=10.0)(50, 5),
        stats.poisson([50, 60]),
        stats.rv_discrete(name="mine", values=([10, 20], [0.5, 0.5])),
        stats.rv_discrete(name="mine", values=([10, 20], [0.5, 0.5]))(),
        stats.poisson(-5),
        stats.vonmises(4, loc=30),
        stats.vonmises_line(4, loc=30),
        stats.wrapcauchy(0.03, loc=30),
        stats.genhyperbolic(1, 600, 0, loc=20, scale=0.01),
    ],
    ids=[
        *("unfrozen", "called norm", "called poisson", "cut off", "two", "custom"),
        *("frozen custom", "impossible", "angles", "angles on a line", "wrapped"),
        "narrow",
    ],
)
def test_laws_that_could_not_be_saved_or_are_not_drawn_from_are_refused(law: Any) -> None:
    with pytest.raises(InputError) as caught:
        gaps(checkpoint_gap=law)
    assert caught.value.field == "checkpoint_gap"
