"""`handrail keys`, as an operator types it, on a real file."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from handrail.cli import main
from handrail.service.keys import Keyring, new_key
from handrail.service.store.open import open_store


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "handrail.db")


def create(database: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert main(["keys", "create", "--database", database, *more]) == 0
    return capsys.readouterr().out.strip()


def listed(database: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["keys", "list", "--database", database, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def ring(database: str) -> Keyring:
    store = open_store(database, create=False)
    with store.reading() as reader:
        rows = reader.keys()
    store.close()
    return Keyring(rows)


def test_a_key_is_printed_once_and_opens(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "create", "--role", "decide", "--database", database]) == 0
    printed = capsys.readouterr()
    key = printed.out.strip()
    assert printed.out == f"{key}\n"  # nothing else: scripts take it from there
    assert "not shown again" in printed.err
    found = ring(database).check(key)
    assert found is not None
    assert (found.role, found.policy) == ("decide", None)


def test_a_key_has_a_label_and_an_end(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    named = ("--label", "cron job of the shop", "--expires")
    create(database, capsys, "--role", "reward", *named, "90d")
    create(database, capsys, "--role", "reward", *named, "2999-01-31")
    first, second = listed(database, capsys)
    assert first["label"] == "cron job of the shop"
    assert (first["used_at"], second["expires_at"]) == (None, "2999-01-31T00:00:00+00:00")
    days = datetime.fromisoformat(first["expires_at"]) - datetime.fromisoformat(first["created_at"])
    assert timedelta(days=90) - timedelta(minutes=1) < days <= timedelta(days=90)
    for bad in ("soon", "0d", "2001-01-01", "99999999999d", "9999-12-31T23:59:59-12:00"):
        more = ["--role", "read", "--expires", bad, "--database", database]
        assert main(["keys", "create", *more]) == 2
        assert capsys.readouterr().err.startswith("error: expires: ")
    assert len(listed(database, capsys)) == 2


def test_the_last_time_there_is(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And those beyond it, which were taken once and have to be listed."""
    create(database, capsys, "--role", "read", "--expires", "9999-12-31T23:59:59.999999")
    store = open_store(database)
    with store.writing() as writer:
        writer.add_key(new_key("read", expires_at=253_402_344_000_000_000)[1])
    store.close()
    assert [row["expires_at"] for row in listed(database, capsys)] == [
        "9999-12-31T23:59:59+00:00"
    ] * 2


def test_a_list_shows_no_secret(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    keys = [create(database, capsys, "--role", "read", "--policy", "news")]
    keys.append(create(database, capsys, "--role", "admin"))
    assert main(["keys", "list", "--database", database]) == 0
    table = capsys.readouterr().out
    rows = listed(database, capsys)
    assert [(row["role"], row["policy"]) for row in rows] == [("read", "news"), ("admin", None)]
    assert all(row["revoked_at"] is None for row in rows)
    columns = "id role policy label created_at used_at expires_at revoked_at"
    assert table.splitlines()[0].split() == columns.split()
    assert len(table.splitlines()) == 3
    content = (Path(database).read_bytes(), table.encode(), json.dumps(rows).encode())
    for key in keys:
        secret = key.split("_")[2].encode()
        assert not any(secret in each for each in content)
        assert not any(bytes.fromhex(secret.decode()) in each for each in content)


def test_keys_change_without_a_gap(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    old = create(database, capsys, "--role", "reward")
    new = create(database, capsys, "--role", "reward")
    both = ring(database)
    assert both.check(old) is not None
    assert both.check(new) is not None
    id = old.split("_")[1]
    assert main(["keys", "revoke", id, "--database", database]) == 0
    assert "within seconds" in capsys.readouterr().out
    after = ring(database)
    assert after.check(old) is None
    assert after.check(new) is not None
    assert [row["revoked_at"] is None for row in listed(database, capsys)] == [False, True]


def test_a_key_for_a_policy_that_is_not_there_is_noted(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", "create", "--role", "read", "--policy", "x", "--database", database]) == 0
    assert "there is no policy 'x' yet" in capsys.readouterr().err
    assert main(["keys", "create", "--role", "read", "--database", database, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert ring(database).check(made["key"]) is not None


def test_the_environment_names_the_database(
    database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_DATABASE", database)
    assert main(["keys", "create", "--role", "read"]) == 0
    key = capsys.readouterr().out.strip()
    assert ring(database).check(key) is not None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create"], "--role"),
        (["create", "--role", "owner"], "invalid choice"),
        (["create", "--role", "read", "--policy", ""], "policy: is empty"),
        (["revoke", "12345678"], "there is no key"),
        (["revoke"], "ID"),
        ([], "ACTION"),
    ],
)
def test_bad_usage(
    arguments: list[str], said: str, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create(database, capsys, "--role", "read")
    more = ["--database", database] if arguments else []
    assert main(["keys", *arguments, *more]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert said in error


def test_revoking_twice_says_when(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    id = create(database, capsys, "--role", "read").split("_")[1]
    assert main(["keys", "revoke", id, "--database", database]) == 0
    assert main(["keys", "revoke", id, "--database", database]) == 2
    assert f"{id} was revoked 20" in capsys.readouterr().err


def test_a_list_makes_no_database(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list", "--database", database]) == 2
    assert capsys.readouterr().err.startswith("error: database: ")
    assert not Path(database).exists()
