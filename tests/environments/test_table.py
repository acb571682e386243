"""Anyone's ratings: read whole, or refused by row and column."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from handrail import InputError
from handrail.environments.table import read_ratings

RATINGS = np.array([[1.0, -2.5, 3.0], [4.0, 5.0, 6e-3]])


def refused(path: Path, reason: str) -> InputError:
    """Return the error this table gives."""
    with pytest.raises(InputError) as caught:
        read_ratings(path)
    error = caught.value
    assert error.field == "table"
    assert reason in error.reason
    assert error.remedy
    assert "\n" not in str(error)
    return error


@pytest.mark.parametrize(
    "text",
    [
        "1,-2.5,3\n4,5,6e-3\n",
        "1,-2.5,3\r\n4,5,6e-3",
        "\ufeff 1 , -2.5 ,3\n4,5,.006\n\n\n",
        'tea,"a, b",c\n1,-2.5,3\n4,5,6e-3\n',
        "tea,coffee,na\n1,-2.5,3\n4,5,6e-3\n",
    ],
    ids=["plain", "windows", "spaces", "quoted-names", "names"],
)
def test_csv(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(text.encode())
    np.testing.assert_array_equal(read_ratings(path), RATINGS)
    np.testing.assert_array_equal(read_ratings(str(path)), RATINGS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "0 x 0"),
        ("\n\n", "0 x 0"),
        ("a,b\n", "0 x 2"),
        ("1,2\n", "1 x 2"),
        ("1\n2\n", "2 x 1"),
        ("1,2\n3,\n", "row 2, column 2 has no rating"),
        ("1,,3\n4,5,6\n", "row 1, column 2 has no rating"),
        ("a,b\n1,2\n3,NaN\n", "row 3, column 2 has no rating"),
        ("1,2\n,NA\nnull,3\n", "row 2, column 1 has no rating (the first of 3 gaps)"),
        ("1,2\n3,inf\n", "row 2, column 2 is inf"),
        ("1,2\n3,1e999\n", "row 2, column 2 is inf"),
        ("1,2\n3,good\n", "row 2, column 2 holds 'good', not a number"),
        ("1,x,3\n4,5,6\n", "row 1, column 2 holds 'x', not a number"),
        ("user,1,2\n7,4,5\n", "row 1, column 1 holds 'user', not a number"),
        ("1;2\n3;4\n5;6\n", "row 2, column 1 holds '3;4', not a number"),
        (",a,b\n0,1,2\n1,3,4\n", "row 1 holds names, but column 1 has none"),
        ("1,2\n3,4,5\n", "row 2 has 3 columns, row 1 has 2"),
        ("a,b\n1\n", "row 2 has 1 columns, row 1 has 2"),
        ("1,2\n\n3,4\n", "row 2 is empty"),
        ('1,2\n3,"4\n', "no csv"),
    ],
)
def test_a_csv_that_is_no_complete_table(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    refused(path, reason)


@pytest.mark.parametrize("start", [0, 1])
def test_numbers_of_columns_are_not_a_user(tmp_path: Path, start: int) -> None:
    """A data frame without names writes its columns' numbers as the first row."""
    path = tmp_path / "ratings.csv"
    frame = pd.DataFrame(np.ones((3, 12)), columns=range(start, start + 12))
    frame.to_csv(path, index=False)
    refused(path, f"row 1 counts from {start} to {start + 11}")
    frame.to_csv(path)
    refused(path, "row 1, column 1 has no rating")
    frame.to_csv(path, index=False, header=False)
    assert read_ratings(path).shape == (3, 12)


def test_a_rating_scale_is_no_numbering(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("1,2,3,4,5\n5,4,3,2,1\n")
    assert read_ratings(path).shape == (2, 5)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    names = ["a", "b", "c"]
    pl.DataFrame(RATINGS, schema=names).write_parquet(path)
    np.testing.assert_array_equal(read_ratings(path), RATINGS)
    for index in (None, ["ann", "bob"], [7, 9]):
        pd.DataFrame(RATINGS, columns=names, index=index).to_parquet(path)
        np.testing.assert_array_equal(read_ratings(path), RATINGS)
    path.rename(tmp_path / "ratings")  # the content tells, not the name
    np.testing.assert_array_equal(read_ratings(tmp_path / "ratings"), RATINGS)


def test_parquet_of_other_numbers(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    columns = [
        pa.array([1, 2], pa.int8()),
        pa.array([True, False]),
        pa.array([0.5, 0.25], pa.float16()),
        pa.array(["1.25", "2.50"]).cast(pa.decimal128(5, 2)),
        pa.array([2**60, 1], pa.uint64()),
    ]
    pq.write_table(pa.table(columns, names=list("abcde")), path)
    np.testing.assert_array_equal(
        read_ratings(path), [[1.0, 1.0, 0.5, 1.25, 2.0**60], [2.0, 0.0, 0.25, 2.5, 1.0]]
    )


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"a": [1, None], "b": [1, 2]}, "row 2, column 1 has no rating"),
        ({"a": [1.0, 2.0], "b": [float("nan"), 2.0]}, "row 1, column 2 has no rating"),
        ({"a": [1.0, 2.0], "b": [1.0, float("-inf")]}, "row 2, column 2 is -inf"),
        ({"a": [1, 2], "b": ["x", "y"]}, "column 2 ('b') holds string, not numbers"),
        ({"a": [1, 2], "b": [None, None]}, "column 2 ('b') holds null, not numbers"),
        ({"a": [[1], [2]], "b": [1, 2]}, "column 1 ('a') holds list"),
        ({"a": [1, 2]}, "2 x 1"),
        ({"a": [1], "b": [2]}, "1 x 2"),
        ({}, "0 x 0"),
    ],
)
def test_a_parquet_that_is_no_complete_table(
    tmp_path: Path, columns: dict[str, list[object]], reason: str
) -> None:
    path = tmp_path / "ratings.parquet"
    pq.write_table(pa.table(columns), path)
    refused(path, reason)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    refused(tmp_path / "missing.csv", "does not exist")
    refused(tmp_path, "is not a file")
    binary = tmp_path / "ratings.csv"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    refused(binary, "is not text")
    binary.write_bytes(b"1,2\n3,\x00\n")
    refused(binary, "row 2, column 2 holds")
    half = tmp_path / "half.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": [3, 4]}), half)
    half.write_bytes(half.read_bytes()[:-20])
    refused(half, "cannot be read as Parquet")
    half.write_text("1,2\n3,4\n")
    refused(half, "cannot be read as Parquet")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is readable to root"
)
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("1,2\n3,4\n")
    path.chmod(0)
    refused(path, "cannot be read")
