"""From names to a folder: run, resume, draw again, refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from handrail.errors import InputError
from handrail.paper.claims import CLAIMS
from handrail.paper.figures import FIGURES
from handrail.paper.reproduce import Outcome, reproduce
from handrail.simulation.tables import read_tables
from paper_tables import TINY, make_tables

NAMES = ["oracle-mab", "mab", "checkpoint-mab"]


def _run(out: Path, *names: str, **options: Any) -> Outcome:
    return reproduce(list(names), **{"scale": TINY, "seed": 0, "out": out, **options})


def _files(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "blocks.sqlite"
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with some figures made at a tiny scale."""
    out = tmp_path_factory.mktemp("reproduce") / "out"
    _run(out, *NAMES)
    return out


def test_what_is_in_the_folder(made: Path) -> None:
    expected = {"blocks.sqlite", "claims.json", "report.html", "settings.json", "time.json"}
    assert {path.name for path in made.iterdir()} == expected | set(NAMES)
    for name in NAMES:
        assert {path.name for path in (made / name).iterdir()} == {
            *("curves.parquet", "runs.parquet", "summary.json"),
            *(f"{name}.png", f"{name}.svg"),
        }
    claims = json.loads((made / "claims.json").read_text())
    assert list(claims) == ["version", "scale", "seed", "seconds", "claims"]
    assert (claims["scale"], claims["seed"]) == ("tiny", 0)
    assert claims["seconds"] > 0
    assert [claim["id"] for claim in claims["claims"]] == [each.id for each in CLAIMS]
    by_id = {claim["id"]: claim for claim in claims["claims"]}
    assert by_id["mab-order"]["measured"] is not None
    assert by_id["jester-half"]["holds"] is None
    assert "was not run" in by_id["jester-half"]["why"]
    report = (made / "report.html").read_text()
    assert report.count("data:image/png") == len(NAMES)
    assert json.loads((made / "mab" / "summary.json").read_text())["models"]["worst"] in range(3)


def test_tables_have_the_shape_the_tests_make_up(made: Path) -> None:
    for name in NAMES:
        for real, synthetic in zip(
            read_tables(made / name),
            make_tables(FIGURES[name].experiments(TINY, 0)),
            strict=True,
        ):
            assert set(real.column_names) == set(synthetic.column_names)
            assert real.num_rows == synthetic.num_rows
            for column in real.column_names:
                assert real.schema.field(column).type == synthetic.schema.field(column).type


def test_metadata_says_what_led_to_a_table(made: Path) -> None:
    note = json.loads(pq.read_schema(made / "mab" / "runs.parquet").metadata[b"handrail"])
    assert note["settings"]["figure"] == "mab"
    assert note["settings"]["seed"] == 0
    assert note["settings"]["experiments"][0]["policy"]["width"] == "wu"
    assert "numpy" in note["versions"]


def test_again_and_redrawn_give_the_same_bytes(made: Path) -> None:
    before = _files(made)
    _run(made, *NAMES)
    assert _files(made) == before
    _run(made, "mab", redraw=True)
    assert _files(made) == before


def test_conservative_algorithms_keep_the_promise_here_too(made: Path) -> None:
    claims = json.loads((made / "claims.json").read_text())["claims"]
    (safe,) = [claim for claim in claims if claim["id"] == "safe"]
    assert safe["measured"] == 0.0


def test_another_run_is_refused_and_changes_nothing(made: Path) -> None:
    before = _files(made)
    with pytest.raises(InputError, match=r"seed 0.*seed 1.*--force") as caught:
        _run(made, "mab", seed=1)
    assert caught.value.field == "out"
    with pytest.raises(InputError, match="holds results of scale tiny, seed 0"):
        _run(made, "mab", seed=1, redraw=True)
    with pytest.raises(InputError, match="not a figure"):
        _run(made, "mba")
    with pytest.raises(InputError, match="workers"):
        _run(made, "mab", workers=0)
    with pytest.raises(InputError, match="no tables of it"):
        _run(made, "linear", redraw=True)
    assert _files(made) == before


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results to draw"):
        _run(tmp_path / "none", "mab", redraw=True)
    assert not (tmp_path / "none").exists()


def test_force_starts_afresh_and_spares_strangers(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _run(out, "oracle-mab", pdf=True)
    (out / "notes.txt").write_text("mine")
    (out / "oracle-mab" / "mine.txt").write_text("mine")
    assert (out / "oracle-mab" / "oracle-mab.pdf").is_file()
    _run(out, "oracle-mab", seed=1, force=True)
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "oracle-mab" / "mine.txt").read_text() == "mine"
    assert not (out / "oracle-mab" / "oracle-mab.pdf").exists()
    assert json.loads((out / "claims.json").read_text())["seed"] == 1


@pytest.fixture
def _no_jester(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HANDRAIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HANDRAIL_JESTER", raising=False)


@pytest.mark.usefixtures("_no_jester")
def test_without_jester_the_other_figures_are_made(tmp_path: Path) -> None:
    lines: list[str] = []
    outcome = _run(tmp_path / "out", "oracle-mab", "jester", tell=lines.append)
    assert lines[0].startswith("jester: the data is missing")
    assert "handrail data jester" in lines[0]
    assert list(outcome.missing) == ["jester"]
    (claim,) = [each for each in outcome.claims["claims"] if each["id"] == "jester-half"]
    assert claim["holds"] is None
    assert "the data is missing" in claim["why"]
    report = outcome.report.read_text()
    assert report.count("data:image/png") == 1
    assert "<b>Missing.</b> the data is missing" in report


@pytest.mark.usefixtures("_no_jester")
def test_jester_alone_without_its_data_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="handrail data jester"):
        _run(tmp_path / "out", "jester", "budget-jester")
    assert not (tmp_path / "out").exists()


def test_an_interrupted_run_keeps_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("handrail.paper.reproduce.run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _run(tmp_path, "oracle-mab")
    assert not (tmp_path / "claims.json").exists()
    (tmp_path / "time.json").write_text('{"seconds": 100.0, "workers": 2}')
    assert _run(tmp_path, "oracle-mab").claims["seconds"] > 100.0
