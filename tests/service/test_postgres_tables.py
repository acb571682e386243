"""PostgreSQL: where it is, which version its tables are of, and how its sessions are set."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest

from handrail.errors import InputError
from handrail.service.store.migrations import POSTGRES, Migration
from handrail.service.store.open import open_store
from logs import add, chain

pytest.importorskip("psycopg", reason="psycopg is not installed")

from handrail.service.store import postgres_tables
from handrail.service.store.address import Address
from handrail.service.store.postgres import PostgresStore


@pytest.fixture
def url(postgres_url: str) -> str:
    """The address of a database that has its tables."""
    open_store(postgres_url).close()
    return postgres_url


def test_settings_of_its_connections(postgres_url: str) -> None:
    store = open_store(postgres_url.replace("options=", "options=-csynchronous_commit%3Doff%20"))
    assert isinstance(store, PostgresStore)
    names = "idle_in_transaction_session_timeout", "lock_timeout", "synchronous_commit"
    add(store)
    assert store._connection is not None
    found = [store._connection.execute(f"SHOW {name}").fetchone() for name in names]
    assert found == [("5s",), ("8s",), ("on",)]
    store.close()


def test_a_stronger_setting_of_the_database_stays(postgres_url: str) -> None:
    stronger = "options=-csynchronous_commit%3Dremote_apply%20"
    store = open_store(postgres_url.replace("options=", stronger))
    assert isinstance(store, PostgresStore)
    add(store)
    assert store._connection is not None
    assert store._connection.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)
    store.close()


def test_a_newer_version_is_refused(url: str) -> None:
    with closing(PostgresStore(Address(url))) as store:
        add(store)
        assert store._connection is not None
        store._connection.execute("UPDATE handrail_meta SET version = 7")
    with pytest.raises(InputError, match="is of version 7, this handrail knows up to 2; upgrade"):
        open_store(url)


def test_an_older_version_is_brought_up_to_date(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(PostgresStore(Address(url))) as store:
        policy = add(store, "news", 3)
    wrong = Migration(3, ("CREATE TABLE handrail_more (a int)", "ALTER TABLE nothing ADD b int"))
    monkeypatch.setattr(postgres_tables, "POSTGRES", (*POSTGRES, wrong))
    with pytest.raises(InputError, match="nothing"):
        open_store(url)
    right = Migration(3, ("CREATE TABLE handrail_more (a int)",))
    monkeypatch.setattr(postgres_tables, "POSTGRES", (*POSTGRES, right))
    for _ in range(2):
        open_store(url).close()
    with closing(PostgresStore(Address(url))) as store, store.reading() as reader:
        assert reader.events(policy) == chain(1, 3)
    monkeypatch.undo()
    with pytest.raises(InputError, match="is of version 3"):
        open_store(url)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hid@den@127.0.0.1:1/logs",
        "postgresql://ann:hid/den@127.0.0.1:1/logs",
        "postgresql://ann:12/hidden@127.0.0.1:1/logs",
        "postgresql://ann:hid%zzden@127.0.0.1:1/logs",
        "postgresql://ann:hid den@127.0.0.1:1/logs",
        "postgresql://ann:hid%40den@127.0.0.1:1/logs",
        "postgresql://ann:hidden@127.0.0.1:1/logs?sslmode=nonsense",
        "postgresql://ann:hidden@127.0.0.1:1/logs?nonsense=1",
    ],
)
def test_a_password_is_never_shown(address: str) -> None:
    with pytest.raises(InputError) as caught:
        open_store(address)
    error: BaseException | None = caught.value
    while error is not None:
        assert "hid" not in f"{error!r} {error}"
        assert "den" not in f"{error!r} {error}"
        error = error.__cause__ or error.__context__


def test_without_psycopg_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError) as caught:
        open_store("postgresql://ann:hidden@127.0.0.1:1/logs")
    assert str(caught.value) == "psycopg: is not installed; pip install 'handrail[postgres]'"


def test_a_store_shows_where_it_is_but_no_password() -> None:
    store = PostgresStore(Address("postgresql://ann:hidden@db.example.com/logs"))
    assert repr(store) == "PostgresStore('db.example.com:5432/logs')"
