"""Mutants: is every small change to the rules that safety rests on seen by a test?

    python -m tests.mutants [--seed S] [--count N] [--only TEXT] [--workers W] [--list]

Every operator, comparison, number, truth value, and min or max of the sources below makes mutants:
`a + b` becomes `a - b`, `a < b` becomes `a <= b` or `a >= b`, 2 becomes 3 or 1. Some are drawn, by
a seed that is printed; each is put into a copy of the sources and the tests that should notice are
run on the copy, without the compiler. A mutant that no test notices survives. Those that cannot be
noticed, because what they compute is the same or is as valid, are listed with the reason in
`mutants.json`: by file, function, statement and change, not by line. Any other survivor is an
error: a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import json
import math
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
PACKAGE: Final = Path("src", "handrail")
LISTED: Final = Path(__file__).with_name("mutants.json")
LEAST: Final = 60.0
"""Seconds after which tests count as hanging, which is noticed; or five times what they took."""

_FOLDED: Final = "tests/service/test_fold.py::test_the_log_gives_the_state_back"
_CASES: Final = (
    *("UCB-arms", "CUCB2-named", "CUCB-learned", "HANDRAIL-arms", "LinUCB-contexts"),
    *("CLUCB-many", "CLUCB2T-contexts", "CLUCB-unknown", "GUARD-guard"),
)
"""Policies of every kind."""
_KL: Final = "tests/bounds/test_kl.py::"
SETS: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    ("bounds/*.py",): (
        "tests/conservative/test_codes.py",
        "tests/conformance/test_small.py",
        f"{_KL}test_ends_at_the_edges",
        f"{_KL}test_the_threshold_is_no_smaller_than_it_should_be",
    ),
    ("estimators/means.py",): ("tests/conformance/test_small.py",),
    ("policies/accounting.py",): (
        "tests/conformance/test_small.py",
        "tests/policies/test_accounting.py",
    ),
    ("conservative/*.py",): (
        "tests/conservative",
        "tests/conformance/test_small.py",
        "tests/policies/test_old_rules.py",
    ),
    ("policies/gaps.py",): (
        "tests/conformance/test_small.py",
        "tests/policies/test_checkpoints.py",
    ),
    ("service/book.py", "service/rounds.py", "service/outcomes.py"): (
        "tests/service/test_rounds.py",
        "tests/service/test_outcomes.py",
        "tests/service/test_retried_fallbacks.py",
        "tests/service/test_log_version_2.py::test_an_old_log_goes_on",
        "tests/service/test_fold.py::test_arms_that_come_and_go_and_checkpoints_are_folded",
        *(f"{_FOLDED}[{case}]" for case in _CASES),
    ),
}
"""Which sources, and the tests that have to notice changes to them."""

_BINARY: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
_COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}


@dataclass(frozen=True)
class Mutant:
    """One change of one source."""

    file: str
    function: str
    statement: str
    change: str
    tests: tuple[str, ...]
    place: tuple[int, int, int, int]
    """Line and column where the changed text begins, and where it ends."""
    text: str
    """What stands there instead."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is known by, wherever in its file it stands."""
        return self.file, self.function, self.statement, self.change

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        first, start, last, end = self.place
        lines = source.encode().splitlines(keepends=True)
        before, after = lines[first - 1][:start], lines[last - 1][end:]
        lines[first - 1 : last] = [before + self.text.encode() + after]
        return b"".join(lines).decode()


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Return what a node may become."""
    match node:
        case ast.BinOp(op=op) if type(op) in _BINARY:
            yield _with(node, op=_BINARY[type(op)]())
        case ast.AugAssign(op=op) if type(op) in _BINARY:
            yield _with(node, op=_BINARY[type(op)]())
        case ast.Compare(ops=ops):
            for place, compared in enumerate(ops):
                for other in _COMPARED[type(compared)]:
                    yield _with(node, ops=[*ops[:place], other(), *ops[place + 1 :]])
        case ast.BoolOp(op=ast.And()):
            yield _with(node, op=ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield _with(node, op=ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=float() as value):
            yield ast.Constant(value + 1.0)
            if value != 0.0:
                yield ast.Constant(0.9 * value)
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            yield _with(node, func=ast.Name("max" if name == "min" else "min"))


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


class _Finder(ast.NodeVisitor):
    """Finds all mutants of a source."""

    def __init__(self, file: str, tests: tuple[str, ...]) -> None:
        self.found: list[Mutant] = []
        self._file, self._tests = file, tests
        self._names: list[str] = []
        self._statement = ""
        self._seen: Counter[tuple[str, str, str]] = Counter()

    def visit(self, node: ast.AST) -> None:
        """Take in a node and what is in it; neither annotations nor texts."""
        if isinstance(node, ast.stmt):
            self._statement = _head(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._names.append(node.name)
            inside = [*node.body]
            if not isinstance(node, ast.ClassDef):
                inside = [*node.args.defaults, *node.args.kw_defaults, *node.body]  # type: ignore[list-item]
            for each in filter(None, inside):
                self.visit(each)
            self._names.pop()
            return
        if isinstance(node, ast.JoinedStr):
            return
        for changed in _changes(node):
            self._add(node, changed)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            statement = self._statement
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    self.visit(each)
                    self._statement = statement

    def _add(self, node: Any, changed: ast.AST) -> None:
        new = ast.unparse(changed)
        change = f"{ast.unparse(node)} -> {new}"
        function = ".".join(self._names)
        again = (function, self._statement, change)
        self._seen[again] += 1
        if self._seen[again] > 1:
            change += f" (number {self._seen[again]})"
        text = new if isinstance(node, ast.stmt) else f"({new})"
        place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        self.found.append(
            Mutant(self._file, function, self._statement, change, self._tests, place, text)
        )


def _head(node: ast.stmt) -> str:
    """Return a statement on a line, without what is inside it."""
    return ast.unparse(node).splitlines()[0]


def mutants() -> list[Mutant]:
    """Return all mutants there are, always in the same order."""
    found = []
    for sources, tests in SETS.items():
        for pattern in sources:
            paths = sorted((ROOT / PACKAGE).glob(pattern))
            if not paths:
                raise LookupError(f"no source is called {pattern}")
            for path in paths:
                finder = _Finder(path.relative_to(ROOT / PACKAGE).as_posix(), tests)
                finder.visit(ast.parse(path.read_text()))
                found += finder.found
    return found


def draw(every: list[Mutant], seed: int, count: int) -> list[Mutant]:
    """Return those that come first in an order by chance, in which a new one moves no other."""

    def place(mutant: Mutant) -> bytes:
        return hashlib.sha256(json.dumps([seed, *mutant.key]).encode()).digest()

    return sorted(every, key=place)[:count]


def listed() -> dict[tuple[str, str, str, str], str]:
    """Return the reasons why mutants cannot be noticed, by what they are known by."""
    rows = json.loads(LISTED.read_text())
    fields = ("file", "function", "statement", "change")
    return {tuple(row[each] for each in fields): row["reason"] for row in rows}


_SERVER: Final = """
import importlib, os, signal, sys
for name in sys.argv[1:]:
    importlib.import_module(name)  # what takes long to import, and is no part of the sources
for line in sys.stdin:
    seconds, *tests = line.split()
    child = os.fork()
    if child == 0:
        os.setsid()  # with whatever it starts, it can be ended as one
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        import pytest
        options = ["-x", "-q", "-n", "0", "-m", "not long", "-p", "no:cacheprovider"]
        os._exit(pytest.main([*options, *tests]))
    def hung(*_):
        raise TimeoutError
    signal.signal(signal.SIGALRM, hung)
    signal.alarm(int(seconds))
    try:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        signal.alarm(0)
    except TimeoutError:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("hung", flush=True)
"""
_HEAVY: Final = ("numpy", "scipy.stats", "scipy.special", "pytest", "msgspec", "platformdirs")
"""Importing these takes longer than most mutants take to be noticed."""


class Bench:
    """A copy of the sources and tests on which mutants are tried, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        left_out = shutil.ignore_patterns("__pycache__", ".hypothesis", "*.egg-info")
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=left_out)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, folder / name)
        paths = [str(folder / "src"), str(folder), str(folder / "tests")]
        settings = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}
        settings |= {"HANDRAIL_UNCOMPILED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, *_HEAVY],
            cwd=folder,
            env={**os.environ, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the one that is in charge
        )

    def run(self, tests: tuple[str, ...], seconds: float) -> str:
        """Run tests; return "passed", "failed" or "hung"."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{math.ceil(seconds)} {' '.join(tests)}\n")
        self._server.stdin.flush()
        said = self._server.stdout.readline().strip()
        if said not in ("0", "1", "2", "hung"):
            raise RuntimeError(f"pytest ended with {said!r} on {' '.join(tests)}")
        return {"0": "passed", "hung": "hung"}.get(said, "failed")

    def try_out(self, mutant: Mutant, seconds: float) -> str:
        """Return what the tests say of a mutant."""
        path = self._folder / PACKAGE / mutant.file
        source = path.read_text()
        try:
            path.write_text(mutant.applied(source))
            return self.run(mutant.tests, seconds)
        finally:
            path.write_text(source)

    def stop(self) -> None:
        """End what is running."""
        found = subprocess.run(
            ["pgrep", "-P", str(self._server.pid)], capture_output=True, text=True, check=False
        )
        self._server.kill()
        self._server.wait()
        for child in found.stdout.split():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(int(child), signal.SIGKILL)


def try_all(drawn: list[Mutant], workers: int) -> dict[Mutant, str]:
    """Try mutants out; return what became of those that were, also when interrupted."""
    results: dict[Mutant, str] = {}
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in drawn:
        waiting.put(mutant)
    failures: list[BaseException] = []
    with tempfile.TemporaryDirectory(prefix="handrail-mutants-") as folder:
        benches = [Bench(Path(folder) / str(number)) for number in range(workers)]
        limits = {}
        for tests in {mutant.tests: None for mutant in drawn}:
            started = time.monotonic()
            if benches[0].run(tests, 1000.0) != "passed":
                raise SystemExit(f"without any mutant, these tests do not pass: {' '.join(tests)}")
            limits[tests] = max(LEAST, 5.0 * (time.monotonic() - started))
            print(f"{time.monotonic() - started:.0f} s without a mutant: {' '.join(tests)}")

        def work(bench: Bench) -> None:
            try:
                while not failures:
                    mutant = waiting.get_nowait()
                    results[mutant] = bench.try_out(mutant, limits[mutant.tests])
                    said = "SURVIVED" if results[mutant] == "passed" else results[mutant]
                    where = f"{mutant.file} {mutant.function}"
                    print(
                        f"[{len(results)}/{len(drawn)}] {said}: {where}: {mutant.change}",
                        flush=True,
                    )
            except queue.Empty:
                return
            except BaseException as error:
                if not failures:
                    failures.append(error)

        threads = [threading.Thread(target=work, args=(bench,)) for bench in benches]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            failures.append(KeyboardInterrupt())
            for bench in benches:
                bench.stop()  # whoever waits for an answer gets none
            for thread in threads:
                thread.join()
            print("interrupted")
        finally:
            for bench in benches:
                bench.stop()
    for failure in failures:
        if not isinstance(failure, KeyboardInterrupt):
            raise failure
    return results


def main(arguments: list[str] | None = None) -> int:
    """Draw mutants, try them out, and say which survived and why; 1 if one should not have."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--seed", type=int, default=6, help="another draws others; default: 6")
    parser.add_argument("--count", type=int, default=110, help="how many are drawn")
    parser.add_argument("--only", default="", help="of mutants whose file and function hold this")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="list all mutants and try none")
    given = parser.parse_args(arguments)
    every = [each for each in mutants() if given.only in f"{each.file} {each.function}"]
    if given.list:
        for each in every:
            print(json.dumps(each.key))
        return 0
    drawn = draw(every, given.seed, given.count)
    print(f"{len(drawn)} of {len(every)} mutants, drawn with --seed {given.seed}", flush=True)
    started = time.monotonic()
    results = try_all(drawn, given.workers)
    reasons = listed()
    survivors = [mutant for mutant, said in results.items() if said == "passed"]
    missed = [mutant for mutant in survivors if mutant.key not in reasons]
    for mutant in survivors:
        reason = reasons.get(mutant.key, "NOT NOTICED BY ANY TEST")
        print(f"\n{mutant.file}, {mutant.function}: {mutant.statement}")
        print(f"  {mutant.change}\n  {reason}")
    noticed = len(results) - len(survivors)
    print(
        f"\n{len(results)} mutants with seed {given.seed}: {noticed} noticed, "
        f"{len(survivors) - len(missed)} cannot be, {len(missed)} should have been; "
        f"{(time.monotonic() - started) / 60:.0f} minutes"
    )
    return 1 if missed or len(results) < len(drawn) else 0


if __name__ == "__main__":
    sys.exit(main())
