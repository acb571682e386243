"""What the tests of the documentation read off a page: its tables, its commands, its answers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

__all__ = ["DOCS", "Step", "agree", "ask", "backticked", "steps", "tables"]

DOCS = Path(__file__).parent.parent / "docs"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b[0-9a-f]{16}-[0-9a-f]{24}-(\d+-[rb])\b")
_VARIABLE = re.compile(r"^(\w+)=(.*)$", re.MULTILINE)
_TICKS = re.compile(r"`([^`]+)`")


def backticked(cell: str) -> list[str]:
    """Return what stands between backticks."""
    return _TICKS.findall(cell)


def tables(page: str, first: str) -> list[list[list[str]]]:
    """Return the rows of every table whose first column has this heading."""
    found: list[list[list[str]]] = []
    inside = before = False
    for line in (DOCS / page).read_text().splitlines():
        cells = [
            cell.replace(r"\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]
        ]
        row = line.startswith("|")
        if not (row and before):
            inside = row and cells[0] == first
            if inside:
                found.append([])
        elif inside and set(line) - set("|-: "):
            found[-1].append(cells)
        before = row
    return found


class Step(NamedTuple):
    """A block of commands, each as its words, and the answer shown after it."""

    commands: list[list[str]]
    shown: Any


def steps(page: str, variables: dict[str, str], change: Callable[[str], str]) -> Iterator[Step]:
    """Yield the blocks of commands of a page, read by a real shell.

    Parameters
    ----------
    page : str
        The page.
    variables : dict
        What variables stand for, whatever the page sets them to; those it sets are added.
    change : callable
        Applied to the text of a block when its turn has come.
    """
    blocks = _FENCE.findall((DOCS / page).read_text())
    for place, (language, written) in enumerate(blocks):
        if language != "sh":
            continue
        text = change(written)
        for name, value in _VARIABLE.findall(text):
            variables.setdefault(name, value.strip('"'))
        follows, answer = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
        yield Step(_words(text, variables), json.loads(answer) if follows == "json" else None)


def _words(text: str, variables: dict[str, str]) -> list[list[str]]:
    """Return the commands of a block; the shell takes them apart and runs none of them."""
    names = {line.split()[0] for line in text.splitlines() if re.match(r"[a-z]", line)}
    told = "".join(f'{name}() {{ printf "%s\\0" {name} "$@"; printf "\\1"; }}\n' for name in names)
    given = "".join(f'{name}="{value}"\n' for name, value in variables.items())
    script = told + given + _VARIABLE.sub("", text)
    shell = shutil.which("sh")
    assert shell is not None
    done = subprocess.run([shell, "-eu", "-c", script], capture_output=True, check=True, text=True)
    return [record.split("\0")[:-1] for record in done.stdout.split("\1")[:-1]]


def ask(client: httpx.Client, words: list[str]) -> Any:
    """Send what curl would; return the answer, read."""
    options = iter(words[1:])
    method, body, url = None, None, ""
    headers = {}
    for word in options:
        match word:
            case "-H":
                name, _, value = next(options).partition(": ")
                headers[name] = value
            case "-X":
                method = next(options)
            case "--json":
                body = next(options)
                headers["Content-Type"] = "application/json"
            case "-o" | "-O":
                raise AssertionError("an answer that is not looked at")
            case _:
                assert not word.startswith("-"), word
                url = word
    method = method or ("GET" if body is None else "POST")
    answer = client.request(method, url, headers=headers, content=body)
    kind = answer.headers["content-type"]
    if kind.endswith("json") and "ndjson" not in kind:
        return answer.json()
    return answer.text


def agree(shown: Any, real: Any, ids: dict[str, str]) -> None:
    """Hold an answer to what is shown of it; note which real id each shown one stands for."""
    if isinstance(shown, dict):
        assert shown.keys() <= real.keys(), shown.keys() - real.keys()
        for name, value in shown.items():
            agree(value, real[name], ids)
    elif isinstance(shown, list):
        assert len(shown) == len(real)
        for one, other in zip(shown, real, strict=True):
            agree(one, other, ids)
    elif isinstance(shown, str) and (found := _ID.fullmatch(shown)):
        other = _ID.fullmatch(real)
        assert other is not None
        assert found[1] == other[1]
        assert ids.setdefault(shown, real) == real
    else:
        assert shown == real
