"""A folder holds one run's results; nobody else's files are ever touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from handrail.errors import InputError
from handrail.simulation.folder import open_folder
from handrail.simulation.store import SqliteStore, store_files

OWNED = (*store_files("blocks.sqlite"), "claims.json", "figures", "mab/curves.parquet", "mab/x")

HOLD = """
import sys
from handrail.simulation.store import SqliteStore
with SqliteStore(sys.argv[1]) as store:
    store.put("a", b"one")
    print("open", flush=True)
    sys.stdin.read()
"""


def use(path: Path, settings: Mapping[str, Any] | None = None, **options: Any) -> None:
    given = {"seed": 0} if settings is None else settings
    defaults: dict[str, Any] = {"owned": OWNED, "needed_bytes": 0, "force": False}
    open_folder(path, given, **(defaults | options))


def listing(path: Path) -> dict[str, bytes | str | None]:
    """Return all that is below a path, with contents and times."""
    found: dict[str, bytes | str | None] = {"": f"{path.stat().st_mtime_ns}"}
    for each in sorted(path.rglob("*")):
        name = str(each.relative_to(path))
        if each.is_symlink():
            found[name] = str(each.readlink())
        else:
            found[name] = each.read_bytes() if each.is_file() else None
            found[f"{name} time"] = f"{each.stat().st_mtime_ns}"
    return found


def refuses(
    path: Path, *parts: str, settings: Mapping[str, Any] | None = None, **options: Any
) -> None:
    """The refusal says these parts, and changes nothing."""
    top = path
    while not os.access(top, os.R_OK | os.X_OK) or not top.is_dir():
        top = top.parent
    before = listing(top)
    with pytest.raises(InputError) as caught:
        use(path, settings, **options)
    assert caught.value.field == "out"
    for part in parts:
        assert part in str(caught.value)
    assert listing(top) == before


def results(path: Path) -> None:
    """Put one of each there: what runs write, and what they do not."""
    with SqliteStore(path / "blocks.sqlite") as store:
        store.put("a", b"one")
    (path / "claims.json").write_text("{}")
    (path / "figures" / "deep").mkdir(parents=True)
    (path / "figures" / "deep" / "a.png").write_text("png")
    (path / "mab").mkdir()
    (path / "mab" / "curves.parquet").write_text("curves")
    (path / "blocks.sqlite-wal").write_text("left by a kill")
    (path / ".claims.json.0123abcd.part").write_text("half")


def strangers(path: Path) -> None:
    (path / "notes.txt").write_text("mine")
    (path / "mab" / "notes.txt").write_text("mine too")
    (path / "more").mkdir()
    (path / "more" / "claims.json").write_text("mine as well")
    (path / ".notes.0123abcd.part").write_text("half of mine")


def test_a_new_folder_says_whose_results_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down"
    use(path, {"seed": 0, "figures": ("mab", "linear"), "scale": "quick"})
    assert [each.name for each in path.iterdir()] == ["settings.json"]
    held = json.loads((path / "settings.json").read_text())
    assert held == {"seed": 0, "figures": ["mab", "linear"], "scale": "quick"}


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / ".settings.json.0123abcd.part").write_text("left by a kill")
    use(tmp_path)
    assert (tmp_path / "settings.json").is_file()


def test_the_same_settings_go_on_and_change_nothing(tmp_path: Path) -> None:
    settings = {
        "seed": np.int64(3),
        "alpha": np.float64(0.05),
        "grid": np.arange(3),
        "runs": 5,
        "table": Path("data") / "table.csv",
        "inner": MappingProxyType({"a": 1, "b": None}),
    }
    use(tmp_path, settings)
    results(tmp_path)
    strangers(tmp_path)
    before = listing(tmp_path)
    use(tmp_path, settings)
    plain = json.loads((tmp_path / "settings.json").read_text())
    use(tmp_path, dict(reversed(plain.items())))
    assert listing(tmp_path) == before


def test_settings_that_are_no_data_are_a_mistake(tmp_path: Path) -> None:
    for value in (object(), float("nan")):
        with pytest.raises((TypeError, ValueError)):
            use(tmp_path, {"value": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("held", "wanted", "said"),
    [
        ({"seed": 3}, {"seed": 0}, "holds results of seed 3, this run has seed 0"),
        (
            {"seed": 3, "scale": "paper", "runs": 5},
            {"seed": 0, "scale": "quick", "runs": 5},
            "holds results of seed 3 and scale paper, this run has seed 0 and scale quick",
        ),
        (
            {"environment": {"arms": 10, "low": 0.25}},
            {"environment": {"arms": 20, "low": 0.25}},
            "holds results of environment.arms 10, this run has environment.arms 20",
        ),
        (
            {"contenders": [{"name": "UCB"}, {"name": "CUCB"}]},
            {"contenders": [{"name": "UCB"}, {"name": "CUCB2"}]},
            "of contenders[1].name CUCB, this run has contenders[1].name CUCB2",
        ),
        (
            {"figures": ["mab"]},
            {"figures": ["mab", "linear"]},
            'of figures ["mab"], this run has figures ["mab", "linear"]',
        ),
        ({"old": 1}, {"new": None}, "new unset and old 1, this run has new null and old unset"),
        (
            dict.fromkeys("abcdef", 0),
            dict.fromkeys("abcdef", 1),
            "of a 0, b 0, c 0 and 3 more, this run has a 1, b 1, c 1 and 3 more",
        ),
        ({"long": "x" * 100}, {"long": "y" * 100}, f"long {'x' * 37}..., this run has long yyy"),
        ([1], {"seed": 0}, 'holds results of settings [1], this run has settings {"seed": 0}'),
    ],
)
def test_other_settings_are_named(tmp_path: Path, held: Any, wanted: Any, said: str) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(held))
    results(tmp_path)
    refuses(tmp_path, said, "--force", str(tmp_path), settings=wanted)


def test_files_of_others_are_named(tmp_path: Path) -> None:
    for name in "fedcba":
        (tmp_path / name).write_text("mine")
    refuses(tmp_path, "holds a, b, c and 3 more but no settings.json", "--force")


def test_results_of_nobody_knows_what_are_refused(tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text("{}")
    refuses(tmp_path, "holds claims.json but no settings.json", "--force")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_damaged_settings_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)
    refuses(tmp_path, f"{tmp_path / 'settings.json'} cannot be read", "--force")
    use(tmp_path, force=True)
    use(tmp_path)


@pytest.mark.parametrize("settings", [{"seed": 0}, {"seed": 1}])
def test_force_starts_afresh_and_leaves_others_alone(
    tmp_path: Path, settings: Mapping[str, Any]
) -> None:
    use(tmp_path)
    results(tmp_path)
    strangers(tmp_path)
    (tmp_path / "claims.json").unlink()
    (tmp_path / "claims.json").symlink_to(tmp_path / "notes.txt")
    use(tmp_path, settings, force=True)
    left = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()}
    kept = {"notes.txt", "mab/notes.txt", "more/claims.json", ".notes.0123abcd.part"}
    assert left == kept | {"settings.json"}
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert json.loads((tmp_path / "settings.json").read_text()) == settings
    use(tmp_path, settings)


def test_force_removes_folders_that_it_empties(tmp_path: Path) -> None:
    use(tmp_path)
    results(tmp_path)
    (tmp_path / "mab" / ".x.0123abcd.part").write_text("half")
    use(tmp_path, force=True)
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


def test_force_takes_a_folder_of_others(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    use(tmp_path, force=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes.txt", "settings.json"]
    use(tmp_path)


def test_force_follows_no_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.png").write_text("mine")
    out = tmp_path / "out"
    use(out)
    (out / "figures").symlink_to(tmp_path / "elsewhere")
    use(out, force=True)
    assert not (out / "figures").is_symlink()
    assert (tmp_path / "elsewhere" / "a.png").read_text() == "mine"


def test_force_mends_a_damaged_store(tmp_path: Path) -> None:
    use(tmp_path)
    (tmp_path / "blocks.sqlite").write_bytes(b"garbage" * 1000)
    with pytest.raises(InputError, match="--force"):
        SqliteStore(tmp_path / "blocks.sqlite")
    use(tmp_path, force=True)
    with SqliteStore(tmp_path / "blocks.sqlite") as store:
        assert store.keys() == set()


@pytest.mark.parametrize("name", ["", "/etc", "../x", "a/../../x"])
def test_nothing_outside_is_owned(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not a path inside"):
        use(tmp_path, owned=[name])


def test_force_does_not_pull_the_store_from_under_another_process(tmp_path: Path) -> None:
    use(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "blocks.sqlite")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        refuses(tmp_path, "blocks.sqlite is in use by another process", force=True)
        process.communicate()
    assert process.returncode == 0
    use(tmp_path, force=True)
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_folder_is_refused(tmp_path: Path, force: bool) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refuses(tmp_path / "file", f"{tmp_path / 'file'} is not a folder", force=force)
    refuses(tmp_path / "file" / "deep" / "er", "file is not a folder", force=force)
    refuses(tmp_path / "link", "link is not a folder", force=force)


def test_a_name_that_cannot_be_is_refused(tmp_path: Path) -> None:
    refuses(tmp_path / ("x" * 300), "choose another folder")


@pytest.mark.parametrize("force", [False, True])
def test_what_cannot_be_written_is_refused(mount: Callable[[str], Path], force: bool) -> None:
    disk = mount("ro")
    refuses(disk, "cannot be written", force=force)
    refuses(disk / "deep" / "down", f"{disk} cannot be written", force=force)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind root")
def test_what_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    refuses(tmp_path, "cannot be written")
    refuses(tmp_path / "deep", "cannot be written")
    tmp_path.chmod(0o700)


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_too_little_space_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**10, 9, 1_200_000_000))
    said = ("needs 3.1 GB of disk space, 1.2 GB is free", "free some, or choose another folder")
    refuses(tmp_path / "new", *said, needed_bytes=3_100_000_000)
    use(tmp_path)
    refuses(tmp_path, *said, needed_bytes=3_100_000_000)
    refuses(tmp_path, *said, needed_bytes=3_100_000_000, force=True)
    use(tmp_path, needed_bytes=1_200_000_000)


def test_space_that_results_already_take_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**10, 9, 5000))
    use(tmp_path)
    (tmp_path / "notes.txt").write_bytes(bytes(10_000))
    refuses(tmp_path, "needs 11.0 kB of disk space, 5.0 kB is free", needed_bytes=11_000 + 14)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a.png").write_bytes(bytes(6000))
    use(tmp_path, needed_bytes=11_000)
    use(tmp_path, needed_bytes=11_000, force=True)
    assert not (tmp_path / "figures").exists()


def test_a_disk_that_is_really_small_is_refused(mount: Callable[[str], Path]) -> None:
    refuses(mount("size=1m") / "out", "needs 10.0 MB of disk space, 1.0 MB", needed_bytes=10**7)


def test_a_disk_that_is_really_full_is_refused(mount: Callable[[str], Path]) -> None:
    disk = mount("size=64k")
    (disk / "notes.txt").write_bytes(bytes(os.statvfs(disk).f_bavail * 4096))
    with pytest.raises(InputError, match="No space left") as caught:
        use(disk / "out")
    assert caught.value.field == "out"
