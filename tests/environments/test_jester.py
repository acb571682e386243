"""The Jester ratings: the real content where there is a copy, and everything that is not it."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xlwt

from handrail import InputError
from handrail.environments import jester, jester_files
from handrail.environments.jester_check import JOKES, NOT_RATED, USERS, check_ratings
from handrail.records import Floats
from jester_copy import COPY, LOOK_ALIKE, alone, held, needs_copy, refused, zipped
from loopback import Answer, serving

JOKE_NUMBERS = [
    *(5, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26, 27, 28, 29, 31, 32),
    *(35, 36, 38, 39, 40, 42, 46, 47, 48, 49, 50, 53, 54, 56, 61, 62, 65, 66, 68, 69),
]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return alone(monkeypatch, tmp_path)


def rows() -> Floats:
    """Return rows of the right shape, values and counts."""
    return np.repeat(np.array([[100.0, *[1.5] * 99, -2.0]]), USERS, axis=0)


def xls(cells: list[list[object]]) -> bytes:
    """Return a workbook with these cells; None leaves one out."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("ratings")
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            if value is not None:
                sheet.write(row, column, value)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


# ------------------------------------------------------------ the real ratings


@needs_copy
def test_facts(cache: Path) -> None:
    assert jester.take_jester(COPY) == cache / "data" / "jester.npy"
    ratings = jester.load_jester()
    assert ratings.shape == (24_983, 100)
    assert ratings.dtype == np.int16
    rated = ratings[ratings != NOT_RATED]
    assert rated.size == 1_810_455
    assert (rated.min(), rated.max()) == (-995, 1000)
    assert (jester.most_rated(ratings) + 1).tolist() == JOKE_NUMBERS
    counts = np.sort((ratings != NOT_RATED).sum(axis=0))[::-1]
    assert (counts[39], counts[40]) == (21_821, 21_563)


@needs_copy
def test_the_complete_matrix(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_JESTER", COPY)
    matrix = jester.jester_matrix(jester.load_jester())
    assert held(cache) == {}
    assert matrix.shape == (19_181, 40)
    assert matrix.dtype == np.float64
    assert np.abs(matrix).max() <= 1.0
    squares = np.linalg.svd(matrix, compute_uv=False) ** 2
    for rank, expected in ((35, 0.1116885155), (36, 0.0993464926)):
        assert np.sqrt(squares[rank:].sum() / matrix.size) == pytest.approx(expected, abs=1e-10)


@needs_copy
def test_what_is_kept_is_the_same_from_every_form(cache: Path, tmp_path: Path) -> None:
    kept = jester.take_jester(COPY).read_bytes()
    with zipfile.ZipFile(COPY) as archive:
        (name,) = archive.namelist()
        table = archive.read(name)
    path = tmp_path / "RATINGS.CSV"
    path.write_bytes(b"\xef\xbb\xbf" + table.replace(b"\n", b"\r\n"))
    assert jester.take_jester(path).read_bytes() == kept
    path.write_bytes(zipped((f"a/{name}", table), ("__MACOSX/a.csv", b""), ("read me.txt", b"")))
    assert jester.take_jester(str(path)).read_bytes() == kept
    np.testing.assert_array_equal(np.load(io.BytesIO(kept)), jester.load_jester())
    assert [file.name for file in (cache / "data").iterdir()] == ["jester.npy"]


@needs_copy
@pytest.mark.long
def test_the_ratings_as_xls(cache: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(COPY) as archive:
        table = archive.read(archive.namelist()[0]).decode()
    book = xls([[float(cell) for cell in line.split(",")] for line in table.splitlines()])
    path = tmp_path / "jester.zip"
    path.write_bytes(zipped(("jester-data-1.xls", book)))
    jester.take_jester(path)
    assert (jester.load_jester() != NOT_RATED).sum() == 1_810_455


@needs_copy
def test_a_rating_changed(cache: Path) -> None:
    changed = jester_files.rows_of(COPY, Path(COPY).read_bytes())
    changed[1234, 5] += 0.01
    error = refused(lambda: check_ratings(changed), "other content", cache)
    assert "file 1" in error.remedy


# ------------------------------------------------------------ the cache


def test_nothing_in_the_cache(cache: Path) -> None:
    error = refused(jester.load_jester, "not in the cache", cache)
    assert "handrail data jester" in error.remedy
    assert "--file PATH" in error.remedy
    assert not jester.is_kept()


def test_a_copy_that_is_not_there(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_JESTER", str(cache / "missing.zip"))
    refused(jester.load_jester, "missing.zip does not exist", cache)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", bytes(USERS * JOKES * 2 + 128)])
def test_a_damaged_cache(cache: Path, content: bytes) -> None:
    path = jester.jester_file()
    path.parent.mkdir()
    path.write_bytes(content)
    error = refused(jester.load_jester, "jester.npy is damaged", cache)
    assert error.remedy == "run `handrail data jester` again"
    assert not jester.is_kept()


@needs_copy
def test_damage_to_real_content(cache: Path) -> None:
    path = jester.take_jester(COPY)
    whole = path.read_bytes()
    assert jester.is_kept()
    for content in (whole[:-1], whole + b"\0", whole[:200] + b"\0\0" + whole[202:]):
        path.write_bytes(content)
        refused(jester.load_jester, "is damaged", cache)
    assert jester.take_jester(COPY).read_bytes() == whole
    assert jester.is_kept()


@needs_copy
def test_ratings_cannot_be_changed_by_accident(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_JESTER", COPY)
    assert not jester.load_jester().flags.writeable
    jester.take_jester(COPY)
    assert not jester.load_jester().flags.writeable


@needs_copy
def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    (cache / "data").write_text("a file where the folder should be")
    error = refused(lambda: jester.take_jester(COPY), "cannot be kept in", cache)
    assert "HANDRAIL_CACHE" in error.remedy


@needs_copy
def test_a_full_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jester.take_jester(COPY)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    refused(lambda: jester.take_jester(COPY), "No space left on device", cache)
    assert jester.is_kept()


# ------------------------------------------------------------ what is not the ratings


def test_shapes(cache: Path) -> None:
    refused(lambda: check_ratings(rows()[1:]), "24,982 x 101 cells", cache)
    refused(lambda: check_ratings(rows()[:, 1:]), "24,983 x 100 cells", cache)
    refused(lambda: check_ratings(np.empty((0, 0))), "0 x 0 cells", cache)


@pytest.mark.parametrize("value", [10.01, -10.5, 98.0, 100.0, np.nan, np.inf, 1e300])
def test_values(cache: Path, value: float) -> None:
    wrong = rows()
    wrong[7, 3] = value
    refused(lambda: check_ratings(wrong), f"row 8, column 4 (joke 3) is {value:g}", cache)


def test_counts(cache: Path) -> None:
    wrong = rows()
    wrong[9, 100] = 99.0
    refused(lambda: check_ratings(wrong), "row 10 says 100 ratings in column 1 and holds 99", cache)
    wrong[9, 0] = np.nan
    refused(lambda: check_ratings(wrong), "row 10 says nan ratings", cache)


def test_content(cache: Path, tmp_path: Path) -> None:
    refused(lambda: check_ratings(rows()), "other content", cache)
    path = tmp_path / "ratings.csv"
    path.write_bytes(LOOK_ALIKE)
    refused(lambda: jester.take_jester(path), "other content", cache)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"1,2\n3,4\n", "2 x 2 cells"),
        (b"1,2\n3\n", "row 2 has 1 columns, row 1 has 2"),
        (b"joke 1,joke 2\n3,4\n", "row 1, column 1 holds 'joke 1', not a number"),
        (b"1,2\n\xff,4\n", "is not text"),
        (b"PK\x03\x04 and no zip", "cannot be read as zip"),
        (zipped(("a.txt", b"1")), "holds 0 .csv or .xls files, not one"),
        (zipped(("a.csv", b"1"), ("b.xls", b"1")), "holds 2 .csv or .xls files, not one"),
        (zipped(("a.csv", b"")), "'a.csv' in"),
        (zipped(("a.csv", zipped(("b.csv", b"1,2\n")))), "is not text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "cannot be read as xls"),
        (xls([[1.0, 2.0], [3.0, 4.0]]), "2 x 2 cells"),
        (xls([[1, 2], [3, "good\n"]]), r"row 2, column 2 holds 'good\n', not a number"),
        (zipped(("a.XLS", xls([["x", 2]]))), "row 1, column 1 holds 'x', not a number"),
        (xls([[]]), "0 x 0 cells"),
    ],
)
def test_other_files(cache: Path, tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "ratings"
    path.write_bytes(content)
    refused(lambda: jester.take_jester(path), reason, cache)


def test_damaged_archives(cache: Path, tmp_path: Path) -> None:
    """Any damage is one clear error, whichever way it trips the reader."""
    path = tmp_path / "ratings"
    rng = np.random.default_rng(0)
    wholes = zipped(("a.csv", b"1,2\n3,4\n" * 50)), xls([[1.5, 2.0], [99.0, 4.25]])
    for whole in wholes:
        for _ in range(150):
            content = np.frombuffer(whole, np.uint8).copy()
            places = rng.integers(0, min(len(content), 1500), 4)
            content[places] = rng.integers(0, 256, 4)
            path.write_bytes(content.tobytes()[: rng.integers(1, 2 * len(content))])
            refused(lambda: jester.take_jester(path), "", cache)


def test_xls_cells(cache: Path) -> None:
    content = xls([[74, -7.82, None], [100, 99, 0.1 + 0.2]])
    expected = [[74.0, -7.82, np.nan], [100.0, 99.0, 0.1 + 0.2]]
    np.testing.assert_array_equal(jester_files.rows_of("a.xls", content), expected)


def test_xls_without_its_reader(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlrd", None)
    for call in (lambda: jester_files.rows_of("a.xls", xls([[1]])), jester.fetch_jester):
        with pytest.raises(InputError, match=r"pip install 'handrail\[xls\]'"):
            call()


def test_paths_that_are_no_files(cache: Path, tmp_path: Path) -> None:
    refused(lambda: jester.take_jester(tmp_path / "missing.zip"), "does not exist", cache)
    refused(lambda: jester.take_jester(tmp_path), "is not a file", cache)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refused(lambda: jester.take_jester(tmp_path / "pipe"), "is not a file", cache)


def test_sizes_are_limited(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(("a.csv", b"1" * 1_000_001))
    assert len(bomb) < 2000
    path = tmp_path / "ratings"
    monkeypatch.setattr(jester_files, "UNPACKED_LIMIT", 1_000_000)
    path.write_bytes(bomb)
    refused(lambda: jester.take_jester(path), "larger than 1 MB", cache)
    path.write_bytes(b"1" * 1_000_001)
    refused(lambda: jester.take_jester(path), "larger than 1 MB", cache)
    with serving({"/bomb": Answer(bomb)}) as server:
        error = refused(
            lambda: jester.fetch_jester(server.url + "/bomb"), "larger than 1 MB", cache
        )
    assert "--file PATH" in error.remedy
