"""The log: lines of JSON, and no secrets in them."""

from __future__ import annotations

import io
import json
import logging
import sys
import warnings
from typing import Any

import pytest

from edge import logging_restored
from handrail.service.keys import new_key
from handrail.service.logs import JsonLines, log_to, without_secrets


def written(record: logging.LogRecord) -> dict[str, Any]:
    line = JsonLines().format(record)
    assert "\n" not in line
    said: dict[str, Any] = json.loads(line)
    return said


def record(message: str, *args: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("handrail.http", logging.WARNING, "", 0, message, args, None)
    made.__dict__.update(fields)
    return made


def test_a_line_holds_what_was_said() -> None:
    made = record("%d of\n%s", 3, "these", incident="abc", policy="p", odd={1})
    made.created = 1_700_000_000.25
    said = written(made)
    assert said == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "warning",
        "logger": "handrail.http",
        "message": "3 of\nthese",
        "incident": "abc",
        "policy": "p",
        "odd": "{1}",
    }


def test_what_json_cannot_hold() -> None:
    said = written(record("x", odd=object, bad="\ud800", none=None, number=1.5))
    assert (said["odd"], said["bad"]) == (str(object), "\ud800")
    assert (said["none"], said["number"]) == (None, 1.5)


def test_an_exception_is_in_one_line_without_its_secrets() -> None:
    key, _ = new_key("admin")
    made = record("failed")
    try:
        raise ValueError(f"no postgresql://me:hush@db/x with {key}")
    except ValueError:
        made.exc_info = sys.exc_info()
    said = written(made)
    assert "ValueError: no postgresql://me:...@db/x with hr_" in said["exception"]
    assert "hush" not in said["exception"]
    assert key not in said["exception"]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgresql://me:hu:s/h@db.example/x", "hu:s/h"),
        ("host=db password=hush user=me", "hush"),
        ("password='hush'", "hush"),
        ('{"password": "hush"}', "hush"),
        ("Authorization: Bearer hush", "hush"),
        ("{'authorization': 'Bearer hush'}", "hush"),
        ("hr_0123abcd_" + "0123456789abcdef" * 3, "456789"),
    ],
)
def test_secrets(text: str, secret: str) -> None:
    shown = without_secrets(text)
    assert shown != text
    assert secret not in shown


def test_a_text_without_secrets_stays() -> None:
    text = "GET http://127.0.0.1:8642/v1/policies/a at 10:30, mail me@example.org"
    assert without_secrets(text) == text


def test_everybody_writes_to_the_same_log() -> None:
    stream = io.StringIO()
    with logging_restored():
        log_to(stream)
        logging.getLogger("handrail.service").info("from handrail")
        logging.getLogger("uvicorn.error").warning("from uvicorn")
        logging.getLogger("uvicorn.error").info("not this")
        logging.getLogger("another").info("nor this")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("from a library", stacklevel=1)
    said = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
    assert said[:2] == ["from handrail", "from uvicorn"]
    assert len(said) == 3
    assert "UserWarning: from a library" in said[2]
