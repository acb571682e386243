"""The mutants themselves: each is another program, and those that are excused exist."""

from __future__ import annotations

import ast

import mutants


def test_every_mutant_is_another_program() -> None:
    found = mutants.mutants()
    assert len(found) > 1000
    assert len({each.key for each in found}) == len(found)
    sources: dict[str, str] = {}
    for each in found[::7]:
        if each.file not in sources:
            sources[each.file] = (mutants.ROOT / mutants.PACKAGE / each.file).read_text()
        source = sources[each.file]
        changed = ast.parse(each.applied(source))
        assert ast.dump(changed) != ast.dump(ast.parse(source)), each.key


def test_those_that_cannot_be_noticed_exist_and_have_a_reason() -> None:
    excused = mutants.listed()
    assert {each.key for each in mutants.mutants()} >= set(excused)
    assert all(reason.endswith(".") for reason in excused.values())
