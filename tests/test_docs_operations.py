"""The page for whoever is on call: its commands are run, its names and numbers held to the code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import httpx
import pytest

from edge import real_edge
from fake_desk import FakeDesk
from handrail.cli import main
from handrail.errors import InputError
from handrail.service.http.meters import Meters
from handrail.service.keys import ROLES
from handrail.service.store.migrations import SQLITE, missing
from handrail.service.store.postgres import Patience
from pages import DOCS, backticked, steps, tables

PAGE = "operations.md"
TEXT = (DOCS / PAGE).read_text()


def options(text: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z-]*", text))


def test_the_options_of_serve(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    (synopsis,) = re.findall(r"^`(handrail serve .*)`$", TEXT, re.MULTILINE)
    assert options(synopsis) == options(capsys.readouterr().out.partition("\n\n")[0])


def test_the_metrics() -> None:
    """The table has them all, and the rules ask for no other."""
    real = set()
    for family in Meters(FakeDesk([])).collect():
        real.add(family.name + ("_total" if family.type == "counter" else ""))
    (rows,) = tables(PAGE, "metric")
    assert {name for row in rows for name in backticked(row[0])} == real
    rules = "".join(re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
    assert set(re.findall(r"\bhandrail_\w+", rules)) <= real


def test_the_alert_on_rewards_that_disagree(tmp_path: Path) -> None:
    """It counts single rewards and those of batches, and is there before the first of them.

    A counter that begins at 1 has not increased by anything, to Prometheus.
    """
    (asked,) = re.findall(r"alert: HandrailRewardsDisagree.*?\n +expr: (.*?)\n", TEXT)
    (metric,) = re.findall(r"^increase\((.*)\[1h\]\) > 0$", asked)
    made = {
        **{"name": "a", "algorithm": "UCB", "arms": 2, "delta": 0.05, "reward_range": [0, 1]},
    }

    def count(api: httpx.Client) -> float:
        (line,) = re.findall(rf"^{re.escape(metric)} (.*)$", api.get("/metrics").text, re.MULTILINE)
        return float(line)

    with real_edge(str(tmp_path / "log.db")) as (url, key):
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60.0) as api:
            assert count(api) == 0
            api.post("/v1/policies", json=made).raise_for_status()
            name = api.post("/v1/policies/a/decide").json()["id"]
            told = "/v1/policies/a/rewards"
            api.post(told, json={"decision": name, "reward": 1}).raise_for_status()
            other = {"decision": name, "reward": 0}
            assert api.post(told, json=other).status_code == 409
            assert count(api) == 1
            assert api.post(told, json={"rewards": [other, other]}).status_code == 200
            assert count(api) == 3
            api.delete("/v1/policies/a").raise_for_status()
            assert api.post(told, json=other).status_code == 409  # archived: another matter
            assert count(api) == 3


def test_the_roles() -> None:
    (rows,) = tables(PAGE, "role")
    assert [backticked(row[0])[0] for row in rows] == list(ROLES)


def test_how_long_replicas_wait_for_each_other() -> None:
    assert f"for up to {Patience().lock:g} s; a replica" in TEXT
    assert f"its lock after {Patience().idle:g} s" in TEXT


def test_what_a_newer_database_is_told() -> None:
    with pytest.raises(InputError) as told:
        missing(SQLITE, 7)
    assert f"`{str(told.value).removeprefix('database: ')}`" in TEXT


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database after the first section of the service's page."""
    path = tmp_path_factory.mktemp("operations") / "handrail.db"
    made = {
        **{"name": "front-page", "algorithm": "HANDRAIL", "arms": ["today", "fresh", "bold"]},
        **{"baseline": "today", "baseline_mean": 0.04, "alpha": 0.2, "delta": 0.05},
        **{"reward_range": [0, 1], "window": 4, "default_reward": 0},
    }
    with real_edge(str(path)) as (url, key):
        api = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=60.0
        )
        with api:
            api.post("/v1/policies", json=made).raise_for_status()
            asked: dict[str, list[dict[str, str]]] = {"requests": [{}] * 5}
            answers = api.post("/v1/policies/front-page/decide", json=asked).json()["decisions"]
            name = answers[-1]["id"]
            api.post(f"/v1/policies/front-page/decisions/{name}/played").raise_for_status()
            given = {"decision": name, "reward": 1}
            api.post("/v1/policies/front-page/rewards", json=given).raise_for_status()
            asked = {"requests": [{}] * 4}
            api.post("/v1/policies/front-page/decide", json=asked).raise_for_status()
    return path


def without_moments(text: str) -> list[str]:
    """Return the words of a statement, times and hashes left out."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    return re.sub(r"\b[0-9a-f]{64}\b", "HASH", text).split()


def test_the_commands(
    database: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In their order, in a folder of their own; the audit says what the page shows."""
    monkeypatch.chdir(database.parent)
    monkeypatch.setenv("HANDRAIL_DATABASE", str(database))
    variables = {"HANDRAIL_DATABASE": str(database), "OLD": "", "HEAD": ""}
    said: dict[str, str] = {}
    noted = []
    for step in steps(PAGE, variables, lambda text: text):
        for command in step.commands:
            if command[0] in ("pg_dump", "pg_restore"):
                continue
            name, *arguments = command
            assert name == "handrail"
            assert main(arguments) == 0
            said[arguments[0]] = capfd.readouterr().out
            if arguments[:2] == ["keys", "list"]:
                (variables["OLD"],) = re.findall(r"^(\w{8})  reward", said["keys"], re.MULTILINE)
            if arguments[0] == "audit":
                (variables["HEAD"],) = re.findall(r"\b[0-9a-f]{64}\b", said["audit"])
                noted += re.findall(r"^Noted head [0-9a-f]{16}.*$", said["audit"], re.MULTILINE)
    assert said.keys() == {"keys", "backup", "restore", "export", "import", "audit"}
    assert f"{variables['OLD']} is revoked" in said["keys"]
    (said_of_it,) = noted
    assert said_of_it.endswith("... is event 12; 0 came after.")
    (shown,) = re.findall(r"^```text\n(== front-page\n.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    real, _, _ = said["audit"].partition("\n\n")
    assert without_moments(real) == without_moments(shown)


def test_the_key_to_be_rotated_is_picked_by_its_role(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever is said in its label, its policy or those of others; a revoked one is over."""
    database = ["--database", str(tmp_path / "keys.db")]

    def create(*options: str) -> str:
        assert main(["keys", "create", *options, *database]) == 0
        return capfd.readouterr().out.split("_")[1]

    create("--role", "read", "--label", "who looks at each reward -")
    create("--role", "decide", "--policy", "reward")
    assert main(["keys", "revoke", create("--role", "reward"), *database]) == 0
    wanted = create("--role", "reward", "--label", "the nightly job", "--expires", "90d")
    capfd.readouterr()
    assert main(["keys", "list", *database]) == 0
    (picks,) = re.findall(r"^OLD=\$\(handrail keys list \| (.*)\)$", TEXT, re.MULTILINE)
    done = subprocess.run(
        ["sh", "-c", picks],
        input=capfd.readouterr().out,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [wanted]
