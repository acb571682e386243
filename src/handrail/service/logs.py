"""The log: a line of JSON for each message, on stderr, with nothing secret in it."""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import IO, Any, Final

__all__ = ["JsonLines", "log_to", "without_secrets"]

_USUAL: Final = frozenset(logging.makeLogRecord({}).__dict__) | {
    *("message", "asctime", "color_message", "taskName")
}
_SECRETS: Final = (
    (re.compile(r"(hr_[0-9a-f]{8}_)[0-9A-Za-z]+"), r"\1..."),
    (re.compile(r"(://[^\s:/@]*:)[^\s@]*@"), r"\1...@"),
    (
        re.compile(
            r"""(\b(?:password|authorization)['"]?\s*[=:]\s*['"]?)(?:(?:bearer|basic)\s+)?[^\s'",;]+""",
            re.IGNORECASE,
        ),
        r"\1...",
    ),
)


def without_secrets(text: str) -> str:
    """Return a text without the keys and passwords in it.

    Examples
    --------
    >>> without_secrets("cannot reach postgresql://me:hush@db.example/handrail")
    'cannot reach postgresql://me:...@db.example/handrail'
    >>> without_secrets("hr_01234567_0123456789abcdef opens")
    'hr_01234567_... opens'
    """
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


class JsonLines(logging.Formatter):
    """Writes a record as a line of JSON: time, level, logger, message and what else it holds."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in record.__dict__.items() if name not in _USUAL}
        if record.exc_info:
            line["exception"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps({name: _plain(value) for name, value in line.items()})


def _plain(value: object) -> object:
    """Return what JSON can hold; secrets are taken out before quotes are added around them."""
    return value if isinstance(value, int | float | None) else without_secrets(str(value))


def log_to(stream: IO[str] | None = None, level: int = logging.INFO) -> None:
    """Send what handrail, uvicorn and warnings have to say to a stream, by default stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    logging.getLogger("handrail").setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
