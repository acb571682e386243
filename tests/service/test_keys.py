"""API keys: what opens and what does not."""

from __future__ import annotations

import hashlib

import pytest

from handrail import InputError
from handrail.service.keys import Keyring, new_key


def test_a_key_opens_until_it_is_revoked() -> None:
    key, row = new_key("read", now=1_000_000)
    assert row.created_at == 1_000_000
    assert Keyring([row]).check(key) == row
    revoked = row._replace(revoked_at=2_000_000)
    assert Keyring([revoked]).check(key) is None
    assert len(Keyring([row])) == 1
    assert len(Keyring([revoked])) == 0


def test_a_key_opens_until_it_expires() -> None:
    key, row = new_key("read", now=1_000_000, label="the shop's cron job", expires_at=3_000_000)
    ring = Keyring([row])
    assert ring.check(key, 2_999_999) == row
    assert ring.check(key, 3_000_000) is None
    assert ring.check(key) is None  # by the clock, which is past it
    assert len(ring) == 0


def test_bad_labels_and_times_are_named() -> None:
    for label in ("", "x" * 101, "two\nlines"):
        with pytest.raises(InputError) as caught:
            new_key("read", label=label)
        assert caught.value.field == "label"
    with pytest.raises(InputError) as caught:
        new_key("read", now=5, expires_at=5)
    assert caught.value.field == "expires"


def test_only_a_hash_of_the_secret_is_kept() -> None:
    key, row = new_key("admin")
    head, id, secret = key.split("_")
    assert (head, id) == ("hr", row.id)
    assert len(bytes.fromhex(secret)) * 8 >= 160
    assert row.hash == hashlib.sha256(secret.encode()).digest()
    assert secret not in repr(row)


def test_keys_differ() -> None:
    # Two of 100 have the same 192 bits with a probability below 1e-53.
    assert len({new_key("read")[0] for _ in range(100)}) == 100


def test_what_is_not_the_key_opens_nothing() -> None:
    key, row = new_key("admin")
    ring = Keyring([row])
    other = "0" if key[-1] != "0" else "1"
    wrong = [
        "",
        row.id,
        key[:-1],
        key[:-1] + other,
        key + "0",
        key + "\n",
        " " + key,
        key.upper(),
        key.replace("hr_", "hs_"),
        f"hr_{row.id}_",
        f"hr_{row.id}_" + "é" * 48,
        f"hr_{row.id}_" + "٣" * 48,
        "hr_" + "0" * 1_000_000,
        f"hr_{row.id}_{row.hash.hex()[:48]}",
        "\ud800",
    ]
    assert [ring.check(each) for each in wrong] == [None] * len(wrong)
    assert Keyring().check(key) is None


def test_the_hash_that_stands_for_nobody_opens_nothing() -> None:
    key, row = new_key("admin")
    assert Keyring([row._replace(revoked_at=1, hash=bytes(32))]).check(key) is None


def test_bad_roles_and_scopes_are_named() -> None:
    with pytest.raises(InputError, match="did you mean decide") as caught:
        new_key("decides")
    assert caught.value.field == "role"
    with pytest.raises(InputError) as caught:
        new_key("read", policy="")
    assert caught.value.field == "policy"
