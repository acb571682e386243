"""Certificates: the count is right, what is broken fails, and what is sound does not.

Verdicts on sound algorithms are false alarms with probability 5e-5 at most; seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import handrail
from handrail import InputError
from handrail.certificate.certify import Certificate, certify
from handrail.certificate.interval import clopper_pearson
from handrail.certificate.knowledge import parse_knowledge
from handrail.certificate.late import LATE
from handrail.certificate.online import play
from handrail.certificate.schedules import parse_schedule

SMALL: dict[str, Any] = {"runs": 120, "rounds": 300}


def test_the_count_is_that_of_the_runs() -> None:
    given = {"policy.noise": 0.4}
    found = certify("CUCB", "loud", 0.3, 0.1, parameters=given, **SMALL)
    table = handrail.simulate(
        "loud",
        algorithms=["CUCB"],
        problems=120,
        runs=1,
        rounds=300,
        per="run",
        parameters={"alpha": 0.3, "delta": 0.1, **given},
    )
    count = int(np.sum(table["violations"].to_numpy() > 0))
    assert 0 < count < 120
    assert (found.violations, found.runs, found.share) == (count, 120, count / 120)
    assert (found.low, found.high) == clopper_pearson(count, 120)


def test_runs_are_100_over_delta_unless_said() -> None:
    assert certify("CUCB-Or", "loud", 0.3, 0.3, rounds=5).runs == math.ceil(100 / 0.3)


def test_a_seed_is_a_promise() -> None:
    def counts(seed: int, environment: str) -> Certificate:
        wrong = {"policy.noise": 0.25}
        return certify("CUCB", environment, 0.3, 0.1, seed=seed, parameters=wrong, **SMALL)

    for environment in ("loud", "late-any"):
        assert counts(1, environment) == counts(1, environment)
        assert counts(1, environment).violations != counts(2, environment).violations


@pytest.mark.parametrize("name", ["CUCB", "CUCB2", "CUCB2T", "CUCB-Or"])
def test_arms(name: str) -> None:
    found = certify(name, "loud", 0.3, 0.2, **SMALL)
    assert found.verdict == "holds"
    assert found.violations <= (0 if name.endswith("Or") else 8)


@pytest.mark.parametrize("environment", ["traps", "wilderness", "lures"])
@pytest.mark.parametrize("name", ["CLUCB", "CLUCB2T"])
def test_linear(name: str, environment: str) -> None:
    assert certify(name, environment, 0.1, 0.2, **SMALL).verdict == "holds"


@pytest.mark.parametrize(
    ("name", "environment", "wrong"),
    [
        ("UCB", "tiny-gaps", {}),
        ("LinUCB", "wilderness", {}),
        ("CUCB", "loud", {"policy.noise": 0.3}),
        ("CUCB2", "long-shots", {"policy.noise": 0.02, "cumulative": "subgaussian"}),
        ("CUCB2T", "loud", {"policy.noise": 0.2}),
        ("CLUCB", "traps", {"policy.noise": 0.1}),
        ("CLUCB2", "lures", {"theta_bound": 0.1, "cumulative": "subgaussian"}),
        (
            "CUCB2",
            "loud",
            {"policy.noise": 0.1, "delta_weights": {"estimator": 1, "martingale": 1e-100}},
        ),
        (
            "CUCB2",
            "loud",
            {
                "policy.noise": 0.25,
                "cumulative": "subgaussian",
                "delta_weights": {"estimator": 1e-100, "martingale": 1},
            },
        ),
    ],
)
def test_what_is_broken_fails(name: str, environment: str, wrong: dict[str, Any]) -> None:
    alpha = 0.02 if environment in ("lures", "tiny-gaps") else 0.3
    found = certify(name, environment, alpha, 0.1, runs=200, rounds=600, parameters=wrong)
    assert found.verdict == "fails"
    assert not found.holds
    assert found.low > 0.1


def test_the_event_that_is_left_whole_is_whole() -> None:
    """What the two cases above rest on: with both at 1e-100 of delta, less noise breaks nothing."""
    given = {"policy.noise": 0.25, "cumulative": "subgaussian"}
    assert certify("CUCB2", "loud", 0.3, 1e-100, runs=200, rounds=600, parameters=given).share == 0


@pytest.mark.parametrize("name", ["CUCB2", "CLUCB"])
@pytest.mark.parametrize(("environment", "alpha"), [("late-clicks", 0.2), ("late-news", 0.5)])
def test_late_rewards_hold_by_the_window_rule_and_fail_naively(
    name: str, environment: str, alpha: float
) -> None:
    sound = certify(name, environment, alpha, 0.2, runs=60, rounds=900)
    naive = certify(name, f"{environment}-naive", alpha, 0.2, runs=60, rounds=900)
    assert sound.verdict == "holds"
    assert naive.verdict == "fails"
    assert naive.violations > 50


def test_late_rewards_that_do_not_depend_on_the_delay() -> None:
    assert certify("CUCB2", "late-any", 0.5, 0.2, runs=60, rounds=600).verdict == "holds"


def test_checkpoints_of_late_runs_are_those_of_the_schedule() -> None:
    """Without a promise the budget is below 0 in the first round, and back above it never."""
    both = [
        certify("CUCB2T", "late-clicks-naive", 0.2, 0.2, 20, 0, schedule, rounds=900).violations
        for schedule in ("every:100", "every:900")
    ]
    assert both == [20, 20]
    at_once = certify("CUCB2T", "late-clicks-naive", 0.2, 0.2, 20, 0, "every:10", rounds=20)
    assert at_once.violations == 0


@pytest.mark.parametrize("late", LATE.values(), ids=list(LATE))
def test_delays_and_the_share_that_comes_in_time(late: Any) -> None:
    chances = (np.arange(10_000) + 0.5) / 10_000
    good = np.array([late.delay(1.0, chance, late.window) for chance in chances])
    assert good.min() == 0
    if late.treatment == "window" or late.kept < 1.0:
        in_time = np.mean((good >= 0) & (good < late.window))
        assert in_time == pytest.approx(late.kept, abs=1e-9)
    bad = np.array([late.delay(0.0, chance, late.window) for chance in chances])
    assert bad.mean() == good.mean() or bad.mean() == -1 or bad.min() > good.max()


def test_a_window_ends_where_delays_say_it_does() -> None:
    """A reward that comes window - 1 rounds later is used, one of window rounds is not."""
    statuses = []
    for delay in (3, 4):
        policy = handrail.make_policy("UCB", arms=2, delta=0.1, noise=1.0, window=4)
        decision = policy.decide()
        for _ in range(delay):
            policy.decide()
        statuses.append(policy.learn(decision, 1.0))
    assert statuses == ["waiting", "late"]


def test_an_interval_is_told_within_its_range() -> None:
    known = parse_knowledge(" interval:0.2,0.9")
    assert known.told(0.5) == (0.3, 1.0)
    assert known.told(0.1) == (0.0, 1.0)
    assert parse_knowledge("known").told(0.5) == 0.5
    assert parse_knowledge("learned").told(0.5) == "learned"


@pytest.mark.parametrize("name", ["CUCB2", "HANDRAIL", "LinHANDRAILT", "GUARD"])
@pytest.mark.parametrize("baseline", ["interval:0,0.05", "interval:0.03,0", "learned"])
def test_what_is_known_of_the_baseline(name: str, baseline: str) -> None:
    found = certify(name, "loud", 0.3, 0.2, runs=60, rounds=200, baseline=baseline)
    assert found.holds
    assert found.baseline == baseline


@pytest.mark.parametrize(
    "schedule",
    ["every-round", "adversarial", "every:7", "list:3,60", "min-gap:9", "gaps:poisson(25)"],
)
@pytest.mark.parametrize("name", ["CUCB2T", "GUARD-T"])
def test_schedules(name: str, schedule: str) -> None:
    found = certify(name, "loud", 0.3, 0.2, 60, 0, schedule, rounds=150)
    assert found.holds
    assert found.schedule == schedule


def test_gaps_that_are_no_whole_numbers() -> None:
    """Taken for 6 to 9 rounds, gaps of 5.25 to 8.25 break the promise in half of the runs."""
    found = certify("CUCB2T", "loud", 0.8, 0.2, 120, 0, "gaps:randint(5,9,0.25)", rounds=150)
    assert found.verdict == "holds"


@pytest.mark.parametrize("environment", ["loud", "wilderness"])
def test_a_guard_needs_the_true_noise(environment: str) -> None:
    given: dict[str, Any] = {"runs": 80, "rounds": 300}
    assert certify("GUARD", environment, 0.3, 0.2, **given).verdict == "holds"
    wrong = {"policy.noise": 0.1}
    assert certify("GUARD", environment, 0.3, 0.2, parameters=wrong, **given).verdict == "fails"


def _online(
    name: str,
    runs: int,
    environment: str = "loud",
    schedule: str = "every-round",
    alpha: float = 0.3,
    **told: Any,
) -> float:
    """The share of violated runs, with a policy that may be told something else than is true."""
    problems = handrail.make_environment(environment)
    smallest = [
        play(
            handrail.algorithm(name),
            problems.problem(0, index),
            {"alpha": alpha, "delta": 0.1, **told},
            rounds=300,
            schedule=parse_schedule(schedule),
            alpha=alpha,
            rng=np.random.default_rng(index),
        )
        for index in range(runs)
    ]
    return float(np.mean(np.array(smallest) < -1e-9))


def test_online_and_simulated_runs_break_alike() -> None:
    """Two shares of 400 runs within 5 standard errors: a false alarm in 1.7 million."""
    online = _online("CUCB", 400, noise=0.4)
    wrong = {"policy.noise": 0.4}
    simulated = certify("CUCB", "loud", 0.3, 0.1, 400, rounds=300, parameters=wrong).share
    middle = (online + simulated) / 2
    assert 0.1 < middle < 0.9
    assert abs(online - simulated) < 5 * math.sqrt(middle * (1 - middle) * 2 / 400)


def test_a_baseline_that_is_better_than_declared_is_found() -> None:
    told: dict[str, Any] = {"environment": "extremes", "alpha": 0.05, "cumulative": "bernstein"}
    assert _online("GUARD", 40, **told) < 0.2
    assert _online("GUARD", 40, baseline_mean=0.1, **told) > 0.5
    assert _online("GUARD", 40, baseline_mean=(0.09, 0.1), **told) > 0.5


def test_gaps_that_are_shorter_than_declared_are_found() -> None:
    law = {"law": "poisson", "args": [90.0]}
    assert _online("GUARD-T", 60, schedule="gaps:poisson(30)", checkpoint_gap=10) < 0.2
    assert _online("GUARD-T", 60, schedule="gaps:poisson(30)", checkpoint_gap=law) > 0.9


@pytest.mark.parametrize(
    ("arguments", "more", "field"),
    [
        (("CUBC", "loud", 0.1, 0.1), {}, "algorithm"),
        (("CUCB", "lout", 0.1, 0.1), {}, "environment"),
        (("CUCB", "loud", 0.0, 0.1), {}, "alpha"),
        (("CUCB", "loud", 0.1, 1.0), {}, "delta"),
        (("CUCB", "loud", 0.1, 0.1, 0), {}, "runs"),
        (("CUCB", "loud", 0.1, 0.1, 9, -1), {}, "seed"),
        (("CUCB", "loud", 0.1, 0.1, 9, 0, "every:5"), {}, "schedule"),
        (("CUCB2T", "loud", 0.1, 0.1, 9, 0, "every:5000"), {}, "schedule"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"rounds": 0}, "rounds"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"parameters": {"alpha": 0.2}}, "alpha"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"parameters": {"armz": 3}}, "armz"),
        (("CUCB", "wilderness", 0.1, 0.1, 9), {}, "algorithms"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"baseline": "guessed"}, "baseline"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"baseline": "interval"}, "baseline"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"baseline": "interval:1"}, "baseline"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"baseline": "interval:-0.1,0.2"}, "baseline"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"baseline": "interval:0,0"}, "baseline"),
        (("CUCB", "loud", 0.1, 0.1, 9), {"baseline": "learned:3"}, "baseline"),
        (("CUCB-Or", "loud", 0.1, 0.1, 9), {"baseline": "learned"}, "baseline_mean"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], more: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        certify(*arguments, **more)
    assert caught.value.field == field
