"""A decision may have been committed although no answer came: the client says so when it can."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from client import misbehaving as misbehaviour
from client.askers import SyncAsker
from client.misbehaving import ANSWER, after, answer, drip, misbehaving, problem, raw, response
from handrail.client import ServiceError
from handrail.client.unheard import Unheard

PLENTY = 60.0
HEARD = answer(misbehaviour.HEARD)
LOST = (raw(), raw())
"""Two lost answers: decide asks once more when a connection breaks."""


def report_path(key: str) -> str:
    return f"/v1/policies/shop/decisions/key%3A{key}/fallback"


def test_a_lost_answer_is_reported_by_its_key(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(*LOST, then=HEARD) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        assert client.flush(PLENTY)
        decided, again, report = server.next(), server.next(), server.next()
        assert server.asked.empty()
    assert decided.document == again.document == {"idempotency_key": choice.key}
    assert (report.method, report.path) == ("POST", report_path(choice.key))
    counts = client.counts()
    assert (counts.reported, counts.unreported, counts.forgotten) == (1, 0, 0)


def test_an_answer_after_the_deadline_is_reported(asker: Callable[..., SyncAsker]) -> None:
    slow = drip(response(200, b"x" * 1_000), every=0.02, finished=threading.Event())
    with misbehaving(slow, then=HEARD) as server:
        client = asker(server.url, timeout=0.05)
        choice = client.decide()
        assert client.flush(PLENTY)
        server.next()
        assert server.next().path == report_path(choice.key)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_ill_service_may_have_committed(asker: Callable[..., SyncAsker], status: int) -> None:
    with misbehaving(problem(status), then=HEARD) as server:
        client = asker(server.url, timeout=PLENTY)
        client.decide()
        assert client.flush(PLENTY)
        assert client.counts().reported == 1


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 413, 415, 422, 429])
def test_a_refusal_committed_nothing(asker: Callable[..., SyncAsker], status: int) -> None:
    with misbehaving(problem(status), then=HEARD) as server:
        client = asker(server.url, timeout=PLENTY)
        assert client.decide().fallback
        assert client.flush(PLENTY)
        server.next()
        assert server.asked.empty()


def test_a_refusal_of_the_second_attempt_says_nothing_of_the_first(
    asker: Callable[..., SyncAsker],
) -> None:
    with misbehaving(raw(), problem(429), then=HEARD) as server:
        client = asker(server.url, timeout=PLENTY)
        assert client.decide().fallback
        assert client.flush(PLENTY)
        assert client.counts().reported == 1


def test_reports_go_on_until_the_service_is_back(asker: Callable[..., SyncAsker]) -> None:
    """Away, then not yet committed, then there; with the pauses between attempts."""
    attempts = (raw(), problem(503), problem(404))
    with misbehaving(*LOST, *attempts, then=HEARD) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide()
        assert client.flush(PLENTY)
        paths = [server.next().path for _ in range(6)]
    assert paths[2:] == [report_path(choice.key)] * 4
    assert client.counts().reported == 1


def test_a_report_that_is_refused_is_given_up(
    asker: Callable[..., SyncAsker], caplog: pytest.LogCaptureFixture
) -> None:
    with misbehaving(*LOST, then=problem(409, reason="the policy is archived")) as server:
        client = asker(server.url, timeout=PLENTY)
        client.decide()
        assert client.flush(PLENTY)
    assert client.counts().forgotten == 1
    assert "a fallback could not be reported: 409: the policy is archived" in caplog.text


def test_decide_does_not_wait_for_reports(asker: Callable[..., SyncAsker]) -> None:
    """The report hangs until the test is over; rounds are decided meanwhile."""
    release = threading.Event()
    with misbehaving(*LOST, reports=after(release, raw())) as server:
        client = asker(server.url, timeout=PLENTY)
        client.decide()
        choices = [client.decide() for _ in range(3)]
        release.set()
    assert not any(choice.fallback for choice in choices)


def test_under_a_key_of_the_callers_own_a_lost_answer_is_not_reported(
    asker: Callable[..., SyncAsker],
) -> None:
    """Another process may have got it under the same key, and played it."""
    with misbehaving(*LOST, *LOST, then=HEARD) as server:
        client = asker(server.url, timeout=PLENTY)
        first = client.decide(idempotency_key="mine")
        many = client.call("decide_many", "shop", [{"idempotency_key": "yours"}, {}])
        assert client.flush(PLENTY)
        asked = [server.next() for _ in range(5)]
        assert server.asked.empty()
    assert first.fallback
    assert [choice.fallback for choice in many] == [True, True]
    assert [each.path.rpartition("/")[2] for each in asked] == ["decide"] * 4 + ["fallback"]
    assert asked[4].path == report_path(many[1].key)
    counts = client.counts()
    assert (counts.reported, counts.unreported, counts.forgotten) == (1, 0, 0)


def test_the_caller_may_report_a_key_of_its_own(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(*LOST, HEARD) as server:
        client = asker(server.url, timeout=PLENTY)
        client.decide(idempotency_key="mine")
        assert client.call("fallback", "shop", "key:mine").status == "baseline"
        asked = [server.next() for _ in range(3)]
    assert asked[2].path == report_path("mine")
    assert asked[2].body == b""


def test_what_was_answered_under_a_key_stays_the_answer(asker: Callable[..., SyncAsker]) -> None:
    """The baseline was played: another answer under the same key would come too late."""
    with misbehaving(*LOST) as server:
        client = asker(server.url, timeout=PLENTY)
        first = client.decide(idempotency_key="mine")
        second = client.decide(idempotency_key="mine")
        other = client.decide(idempotency_key="yours")
        again = client.decide(idempotency_key="yours")
        asked = [server.next() for _ in range(3)]
        assert server.asked.empty()
    assert first.fallback
    assert second.fallback
    assert second.action == "current"
    assert other.id == again.id == ANSWER["id"]
    assert again.repeated
    assert asked[2].document["idempotency_key"] == "yours"


@pytest.mark.parametrize("named", ["choice", "id", "key"])
def test_what_was_reported_as_a_fallback_is_not_given_again_from_memory(
    asker: Callable[..., SyncAsker], named: str
) -> None:
    """The service knows what the round is now; whether it heard of it or not."""
    held = {**ANSWER, "action": "current", "event": "baseline", "repeated": True}
    plan = (answer(ANSWER), HEARD, answer(held))
    with misbehaving(*plan, then=problem(409)) as server:
        client = asker(server.url, timeout=PLENTY)
        choice = client.decide(idempotency_key="mine")
        told = {"choice": choice, "id": choice.id, "key": "key:mine"}[named]
        client.call("fallback", "shop", told)
        again = client.decide(idempotency_key="mine")
        assert (again.action, again.event, again.repeated) == ("current", "baseline", True)
        with pytest.raises(ServiceError):
            client.call("fallback", "shop", told)
        server.then = answer(ANSWER)
        assert client.decide(idempotency_key="mine").action == "new"


def test_in_a_batch_only_what_is_not_known_is_asked_for(asker: Callable[..., SyncAsker]) -> None:
    with misbehaving(answer(ANSWER), answer({"decisions": [{**ANSWER, "id": "b"}]})) as server:
        client = asker(server.url, timeout=PLENTY)
        client.decide(idempotency_key="one")
        asks = [{"idempotency_key": "one"}, {"idempotency_key": "two"}]
        choices = client.call("decide_many", "shop", asks)
        server.next()
        assert server.next().document == {"requests": [{"idempotency_key": "two"}]}
    assert [choice.id for choice in choices] == [ANSWER["id"], "b"]


def test_a_refusal_under_a_key_can_be_asked_again(asker: Callable[..., SyncAsker]) -> None:
    """Nothing was decided: the next attempt may be."""
    with misbehaving(problem(422, reason="0 rows")) as server:
        client = asker(server.url, timeout=PLENTY)
        assert client.decide(idempotency_key="mine").fallback
        assert client.decide(idempotency_key="mine").id == ANSWER["id"]


def test_close_reports_what_it_can() -> None:
    with misbehaving(*LOST, then=HEARD) as server:
        client = SyncAsker(server.url, timeout=PLENTY)
        client.decide()
        client.call("close", timeout=PLENTY)
        assert client.counts().reported == 1
        choice = client.decide()  # closed, and still no reason to take the page down
    assert choice.fallback


def test_the_thread_is_there_only_while_it_is_needed() -> None:
    def reporters() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "handrail-reports"]

    with misbehaving(*LOST, HEARD, *LOST, then=HEARD) as server:
        client = SyncAsker(server.url, timeout=PLENTY)
        for reported in (1, 2):
            client.decide()
            assert client.flush(PLENTY)
            for thread in reporters():
                thread.join(PLENTY)
            assert reporters() == []
            assert client.counts().reported == reported
        client.call("close")


def test_many_threads_report_each_fallback_once() -> None:
    rounds = 200
    fallback = "/fallback"
    with misbehaving(then=HEARD) as server:  # no answer to decide: all of them are in doubt
        client = SyncAsker(server.url, timeout=PLENTY, failures=10**9)
        with ThreadPoolExecutor(8) as pool:
            choices = list(pool.map(lambda _: client.decide(), range(rounds)))
        assert client.flush(PLENTY)
        client.call("close")
    asked = [server.next().path for _ in range(server.asked.qsize())]
    reports = [path for path in asked if path.endswith(fallback)]
    assert sorted(reports) == sorted(report_path(choice.key) for choice in choices)


# -- the list itself, on a clock of the test's ------------------------------------------------


def test_absent_counts_only_after_the_service_can_no_longer_commit() -> None:
    unheard = Unheard(room=10)
    unheard.add("shop", "k", now=0.0)
    now, asked = 0.0, 0
    while (wait := unheard.wait(now)) is not None:
        now += wait
        report = unheard.take(now)
        assert report is not None
        asked += 1
        sent, now = now, now + 0.01
        unheard.settle(report, "absent", sent=sent, now=now)
    assert 30.0 <= sent < 64.0
    assert asked < 10
    assert (unheard.reported, unheard.forgotten, len(unheard)) == (0, 0, 0)


def test_a_report_sent_before_and_answered_after_the_limit_is_repeated() -> None:
    unheard = Unheard(room=10)
    unheard.add("shop", "k", now=0.0)
    report = unheard.take(29.0)
    assert report is not None
    unheard.settle(report, "absent", sent=29.0, now=31.0)
    assert len(unheard) == 1


def test_while_the_service_is_away_one_report_at_a_time_is_tried() -> None:
    unheard = Unheard(room=100)
    for place in range(100):
        unheard.add("shop", f"k{place}", now=0.0)
    now, tries = 0.0, 0
    while now < 300.0:
        report = unheard.take(now)
        if report is None:
            wait = unheard.wait(now)
            assert wait is not None
            now += wait
        else:
            tries += 1
            unheard.settle(report, "away", sent=now, now=now)
    assert tries < 20
    while (report := unheard.take(now)) is not None:
        unheard.settle(report, "heard", sent=now, now=now)
    assert (unheard.reported, len(unheard)) == (100, 0)


def test_a_report_is_given_up_after_an_hour() -> None:
    unheard = Unheard(room=10)
    unheard.add("shop", "k", now=0.0)
    report = unheard.take(3_601.0)
    assert report is not None
    unheard.settle(report, "away", sent=3_601.0, now=3_602.0)
    assert (unheard.forgotten, len(unheard), unheard.wait(3_602.0)) == (1, 0, None)


def test_the_list_is_bounded_and_forgets_the_oldest() -> None:
    unheard = Unheard(room=3)
    for place in range(1_000):
        unheard.add("shop", f"k{place}", now=float(place))
    assert len(unheard) == 3
    assert len(unheard._due) <= 7
    assert unheard.forgotten == 997
    first = unheard.take(1_000.0)
    assert first is not None
    assert first.key == "k997"
    unheard.add("shop", "more", now=1_000.0)  # forgets k997 while it is under way
    unheard.settle(first, "heard", sent=1_000.0, now=1_000.1)
    assert unheard.reported == 0
    assert len(unheard) == 3
