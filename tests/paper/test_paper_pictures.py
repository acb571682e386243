"""Every figure can be drawn, says what it must, and looks the same when drawn again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from handrail.paper.drawing.budget import early_rounds
from handrail.paper.drawing.curves import View, load
from handrail.paper.drawing.looks import algorithm_line, checkpoint_line, look, role
from handrail.paper.drawing.sheet import save, style
from handrail.paper.figures import FIGURES
from handrail.paper.numbers import Curve
from handrail.paper.settings import LINEAR_FAMILY, MEANS_FAMILY
from paper_tables import TINY, make_tables


@cache
def _drawn(name: str) -> Figure:
    return _draw(name)


def _draw(name: str) -> Figure:
    plan = FIGURES[name]
    with style():
        return plan.picture(make_tables(plan.experiments(TINY, 0)), TINY)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_and_says_its_settings(name: str, tmp_path: Path) -> None:
    figure = _drawn(name)
    with style():
        paths = save(figure, tmp_path, name)
    assert [path.name for path in paths] == [f"{name}.png", f"{name}.svg"]
    texts = " ".join(str(text.get_text()) for text in figure.findobj(Text))
    assert "tiny scale: " in texts
    assert "(paper: " in texts or "(full size: " in texts
    accounting = "union accounting" if name == "guard" else "paper accounting"
    for word in ("width", "clipped at 0", accounting, "α", "δ"):
        assert word in texts, word


def _texts(figure: Figure) -> list[Text]:
    """Return all texts that are drawn: a tick outside its axis has a label that is not."""
    hidden = set()
    for axes in figure.get_axes():
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    hidden |= {tick.label1, tick.label2}
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text)
        and text not in hidden
        and text.get_visible()
        and str(text.get_text()).strip()
    ]


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_is_cut_off_or_covers_another(name: str) -> None:
    with style():
        figure = _drawn(name)
        figure.draw_without_rendering()
        width, height = figure.bbox.size
        boxes = [(str(text.get_text()), text.get_window_extent()) for text in _texts(figure)]
        for label, box in boxes:
            assert box.x0 > -2, label
            assert box.y0 > -2, label
            assert box.x1 < width + 2, label
            assert box.y1 < height + 2, label
        heads = [(label, box) for label, box in boxes if len(label) > 12]
        for place, (label, box) in enumerate(heads):
            for other, covered in heads[place + 1 :]:
                overlap = box.shrunk(0.9, 0.9).overlaps(covered.shrunk(0.9, 0.9))
                assert not overlap, (label, other)


def test_the_same_tables_give_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        figure = _draw("checkpoint-mab")
        with style():
            written.append([p.read_bytes() for p in save(figure, folder, "x", pdf=True)])
    assert written[0] == written[1]
    assert len(written[0]) == 3


def test_the_users_matplotlib_settings_are_left_alone() -> None:
    with mpl.rc_context({"font.size": 33.0}):
        with style():
            assert mpl.rcParams["font.size"] == 9.0
        assert mpl.rcParams["font.size"] == 33.0


def test_one_colour_per_algorithm_in_both_families() -> None:
    names = [*MEANS_FAMILY, "CUCB2T"]
    assert len({look(name)["color"] for name in names}) == 8
    for one, other in zip(names, [*LINEAR_FAMILY, "CLUCB2T"], strict=True):
        assert role(one) == role(other)
        assert look(one) == look(other)
    gaps = [checkpoint_line("CLUCB2T", gap, place, 100) for place, gap in enumerate((5, 10, 12))]
    assert len({str(line.look["linestyle"]) for line in gaps}) == 3
    assert {line.color for line in gaps} == {look("CUCB2T")["color"]}


def test_the_zoom_ends_a_little_behind_the_last_negative_round() -> None:
    tables = make_tables(FIGURES["mab"].experiments(TINY, 0))
    loaded = load(tables.curves, "budget", [algorithm_line("UCB")])
    rounds, values, _ = loaded[0][1]
    last = rounds[values[0] < 0][-1]
    assert early_rounds(loaded, View("", lambda each: each.model(0))) == int(1.25 * last) + 1
    never = load(tables.curves, "budget", [algorithm_line("CUCB")])
    assert early_rounds(never, View("", Curve.average)) == 1000


@pytest.mark.parametrize("name", FIGURES)
def test_summaries_are_plain_data(name: str) -> None:
    plan = FIGURES[name]
    summary = plan.summary(make_tables(plan.experiments(TINY, 0)), TINY)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
