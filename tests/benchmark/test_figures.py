"""Pictures, seen through what is drawn in them: names, lines, and that no text lies on another."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf.benchmark.methods import METHODS
from nicecf.benchmark.report import figures
from nicecf.benchmark.report.names import (
    BENCHMARKS,
    METRICS,
    NICE_VARIANTS,
    OURS,
    PAPER_METHODS,
    PROPERTIES,
    kind,
    pretty,
)
from nicecf.views.plots.labels import Box, around, levels, spread
from strategies import fewer

pytestmark = pytest.mark.deep  # of reports that are written a few times a year

nan = np.nan
drawing = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed: pip install 'nicecf[benchmark]'"
)

# The paper's average ranks for the ANN.
SPARSITY = dict(zip(PAPER_METHODS, [5.17, 1.42, 1.67, 3.33, 5.33, 4.39, 3.16, 3.67, 5.35, 7.43], strict=True))
PROXIMITY = dict(zip(PAPER_METHODS, [5.10, 1.86, 1.72, 3.48, 5.34, 5.34, 4.10, 4.85, 4.08, 7.95], strict=True))
PLAUSIBILITY = dict(zip(PAPER_METHODS, [3.10, 4.07, 4.15, 3.27, 3.11, 6.66, 5.31, 6.61, 5.86, 6.09], strict=True))
# And those for the forest.
RF_SPARSITY = dict(zip(PAPER_METHODS, [4.73, 1.31, 1.87, 3.15, 4.87, 5.10, 3.34, 4.11, 5.51, 7.65], strict=True))
RF_PROXIMITY = dict(zip(PAPER_METHODS, [4.56, 1.63, 1.63, 3.16, 4.88, 5.85, 4.24, 5.50, 4.52, 7.89], strict=True))
RF_PLAUSIBILITY = dict(zip(PAPER_METHODS, [2.91, 4.10, 4.13, 2.88, 2.93, 6.67, 5.16, 6.43, 5.97, 6.50], strict=True))
CD = 0.151


def both(one, other):
    return {method: (one[method], other[method]) for method in one}


def trade_off(points, title="Sparsity and plausibility"):
    return figures.trade_off(points, "rank of sparsity", "rank of plausibility", title)


def texts(figure):
    """What is written in a figure, with the box that it takes, in pixels."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    hidden = [
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not axes.axison or not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    ]
    found = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible() and text not in hidden]
    # Of an annotation without the line that leads to its place.
    return [(text.get_text(), Text.get_window_extent(text)) for text in found]


def written(figure):
    return [words for words, _ in texts(figure)]


def texts_that_touch(figure, *, within=1.0):
    """Pairs of texts of which one lies on the other, and texts that are cut off."""
    width, height = figure.bbox.width, figure.bbox.height
    boxes = texts(figure)
    pairs = [
        (one, other)
        for (one, a), (other, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > within and min(a.y1, b.y1) - max(a.y0, b.y0) > within
    ]
    cut = [words for words, b in boxes if b.x0 < 0 or b.y0 < 0 or b.x1 > width or b.y1 > height]
    return pairs + cut


def line(figure, label):
    return next(one for one in figure.axes[0].get_lines() if one.get_label() == label)


class TestNames:
    def test_methods_are_written_as_people_write_them(self):
        names = [pretty(method) for method in PAPER_METHODS]
        assert names[:5] == ["NICE (none)", "NICE (spars)", "NICE (prox)", "NICE (plaus)", "WIT"]
        assert names[5:] == ["CBR", "SEDC", "DiCE", "CFproto", "GeCo (of the paper)"]
        assert (pretty("nice-thorough"), pretty("growing-spheres")) == ("NICE (thorough)", "Growing Spheres")
        assert (pretty("geco"), pretty("paper-geco")) == ("GeCo", "GeCo (of the paper)")

    def test_every_method_that_can_be_run_has_a_name_and_a_kind(self):
        assert set(METHODS) == {*PAPER_METHODS, *OURS}
        assert all(pretty(method) != method for method in METHODS)
        assert {kind(method) for method in NICE_VARIANTS} == {"nice"}
        assert {kind(method) for method in BENCHMARKS} == {"benchmark"}
        assert {kind(method) for method in OURS} == {"beyond"}

    def test_an_unknown_method_is_written_as_it_is(self):
        assert pretty("my-own") == "my-own"
        assert kind("my-own") == "beyond"

    def test_the_properties_are_metrics(self):
        assert set(PROPERTIES.values()) < set(METRICS)


class TestLabels:
    positions = st.lists(st.floats(0, 10), max_size=8)

    @given(positions)
    def test_spread_keeps_the_order_the_distance_and_the_limits(self, positions):
        found = spread(np.array(positions, dtype=float), gap=1.0, low=0.0, high=10.0)
        in_order = found[np.argsort(positions, kind="stable")]
        assert all(after - before > 1.0 - 1e-9 for before, after in pairwise(in_order))
        assert all(-1e-9 < one < 10.0 + 1e-9 for one in found)

    @given(st.lists(st.integers(0, 20), unique=True, max_size=5))
    def test_spread_leaves_alone_what_is_apart(self, tens):
        positions = 2.0 * np.array(tens, dtype=float)
        assert spread(positions, gap=1.5, low=0.0, high=50.0) == pytest.approx(positions)

    def test_spread_starts_at_the_bottom_where_there_is_no_room(self):
        assert spread(np.array([5.0, 5.0, 5.0]), gap=2.0, low=1.0, high=3.0).tolist() == [1.0, 3.0, 5.0]

    @given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=9))
    def test_spans_of_one_level_do_not_touch(self, drawn):
        spans = sorted((start, start + length) for start, length in drawn)
        found = levels(spans)
        for (a, level), (b, other) in combinations(zip(spans, found, strict=True), 2):
            assert level != other or a[1] < b[0] or b[1] < a[0]
        deepest = max((sum(start <= x <= end for start, end in spans) for x in range(15)), default=0)
        assert max(found, default=-1) + 1 == deepest  # and there are no more levels than spans on top of each other

    @fewer(0.2)
    @given(st.lists(st.tuples(st.integers(5, 35), st.integers(5, 35)), min_size=1, max_size=8))
    def test_labels_lie_within_the_bounds_and_not_on_each_other(self, places):
        points = 10.0 * np.array(places, dtype=float)
        sizes = np.tile([50.0, 10.0], (len(points), 1))
        centres = around(points, sizes, bounds=Box(0, 0, 400, 400), gap=6.0, lines=np.empty((0, 2)))
        for a, b in combinations(centres, 2):
            assert (np.abs(a - b) > sizes[0] - 1.0).any()
        assert (centres - sizes / 2 > -1e-6).all()
        assert (centres + sizes / 2 < 400 + 1e-6).all()

    def test_a_label_keeps_clear_of_points_and_lines_and_the_edge(self):
        def label(point, others=(), lines=()):
            points = np.array([point, *others], dtype=float)
            sizes = np.array([[20.0, 4.0]] + [[1.0, 1.0]] * len(others))
            lines = np.array(lines, dtype=float).reshape(-1, 2)
            return around(points, sizes, bounds=Box(0, 0, 100, 100), gap=2.0, lines=lines)[0].tolist()

        assert label((50, 50)) == [62.0, 50.0]  # to the right, where nothing is in the way
        assert label((95, 50))[0] < 90  # but not over the edge
        assert label((50, 50), others=[(58, 50)])[1] != 50  # nor over another point
        assert label((50, 50), lines=[(x, 50) for x in range(40, 100, 2)])[1] != 50  # nor on a line

    def test_a_label_is_nearer_to_its_own_point_than_to_another(self):
        # Two points side by side on a line: each name must not sit under the other's point.
        points = np.array([[100.0, 50.0], [130.0, 50.0]])
        sizes = np.full((2, 2), [60.0, 10.0])
        on_line = np.array([(x, 50.0) for x in range(100, 300, 5)])
        centres = around(points, sizes, bounds=Box(0, 0, 300, 100), gap=6.0, lines=on_line)
        for i in range(2):
            apart = np.clip(np.abs(centres[i] - points) - sizes[i] / 2, 0, None)
            distances = np.hypot(*apart.T)
            assert distances[i] < distances[1 - i]

    def test_the_labels_of_two_points_that_nearly_meet_cover_neither(self):
        points = np.array([[50.0, 50.0], [55.0, 50.0]])
        sizes = np.full((2, 2), [60.0, 10.0])
        centres = around(points, sizes, bounds=Box(-100, 0, 300, 100), gap=6.0, lines=np.empty((0, 2)))
        to_edge = np.abs(centres[:, None, :] - points[None, :, :]) - sizes / 2
        assert (to_edge.max(axis=2) > 5.9).all()

    def test_crowded_labels_keep_clear_of_each_other_and_of_the_ways_to_them(self):
        random = np.random.default_rng(0)
        line = np.array([(x, 60.0) for x in range(60, 440, 6)])
        n, n_astray = 10, 0
        for _ in range(8):
            points = np.concatenate(
                [random.normal([80, 80], [25, 18], (5, 2)), random.uniform([60, 60], [400, 300], (5, 2))]
            )
            sizes = np.column_stack([random.choice([25.0, 60.0, 110.0], n), np.full(n, 11.0)])
            centres = around(points, sizes, bounds=Box(0, 0, 440, 330), gap=6.0, lines=line)
            for i, j in permutations(range(n), 2):
                assert (np.abs(centres[i] - centres[j]) > (sizes[i] + sizes[j]) / 2 - 1).any()
                way = points[i] + np.linspace(0.1, 1, 30)[:, None] * (centres[i] - points[i])
                assert (np.abs(way - centres[j]) > sizes[j] / 2 - 1).any(axis=1).all()
            for i in range(n):
                distances = np.hypot(*np.clip(np.abs(centres[i] - points) - sizes[i] / 2, 0, None).T)
                is_next = distances < distances[i] + 4
                n_astray += is_next.sum() > 1 and distances[i] < 12
        # As near to another point as to its own: now and then there is no other way.
        assert n_astray <= 10

    def test_of_no_points(self):
        nothing = np.empty((0, 2))
        assert around(nothing, nothing, bounds=Box(0, 0, 1, 1), gap=1.0, lines=nothing).shape == (0, 2)
        assert spread(np.empty(0), gap=1.0, low=0.0, high=1.0).tolist() == levels([]) == []


CROWDED = both(SPARSITY, PLAUSIBILITY) | {
    "nice-thorough": (1.35, 3.4),
    "nice-thorough-spars": (1.30, 3.9),
    "nice-thorough-prox": (1.36, 4.0),
    "nice-thorough-plaus": (1.4, 2.9),
    "growing-spheres": (7.2, 6.3),
}
TRADE_OFFS = {
    "ann sparsity proximity": both(SPARSITY, PROXIMITY),
    "ann sparsity plausibility": both(SPARSITY, PLAUSIBILITY),
    "ann proximity plausibility": both(PROXIMITY, PLAUSIBILITY),
    "rf sparsity proximity": both(RF_SPARSITY, RF_PROXIMITY),
    "rf sparsity plausibility": both(RF_SPARSITY, RF_PLAUSIBILITY),
    "rf proximity plausibility": both(RF_PROXIMITY, RF_PLAUSIBILITY),
    "crowded": CROWDED,
}


@drawing
class TestTradeOff:
    @pytest.mark.parametrize("points", TRADE_OFFS.values(), ids=TRADE_OFFS)
    def test_every_method_is_named_once_at_its_own_point_and_no_text_touches_another(self, points):
        figure = trade_off(points)
        assert all(written(figure).count(pretty(method)) == 1 for method in points)
        assert texts_that_touch(figure) == []
        boxes, scale = dict(texts(figure)), figure.dpi / 72
        places = {m: figure.axes[0].transData.transform(point) for m, point in points.items()}
        for method, place in places.items():
            box = boxes[pretty(method)]
            centre, half = np.array([box.x0 + box.x1, box.y0 + box.y1]) / 2, np.array([box.width, box.height]) / 2
            far = [other for other in places.values() if np.hypot(*(other - place)) > 6 * scale]
            way = [place + share * (centre - place) for share in np.linspace(0.1, 1, 30)]
            is_near = (np.abs(centre - place) - half).max() < 10 * scale
            for other in far:
                to_own, to_other = (np.hypot(*np.clip(np.abs(centre - one) - half, 0, None)) for one in (place, other))
                assert to_own <= to_other + 1 or not is_near
                assert all(np.abs(step - other).max() > 2 * scale for step in way)
            for name, b in boxes.items():
                if name in map(pretty, points) and name != pretty(method):
                    assert not any(b.x0 + 1 < x < b.x1 - 1 and b.y0 + 1 < y < b.y1 - 1 for x, y in way)

    @pytest.mark.parametrize("n", [1, 2, 3, 12, 15])
    def test_any_number_of_methods(self, n):
        methods = [*PAPER_METHODS, *OURS][:n]
        random = np.random.default_rng(n)
        points = {method: tuple(random.normal(4, 0.7, 2).tolist()) for method in methods}
        figure = trade_off(points)
        assert {pretty(method) for method in methods} <= set(written(figure))
        assert texts_that_touch(figure) == []

    def test_methods_in_one_place_are_all_named(self):
        figure = trade_off(dict.fromkeys(PAPER_METHODS, (2.0, 3.0)))
        assert {pretty(method) for method in PAPER_METHODS} <= set(written(figure))
        assert texts_that_touch(figure) == []

    def test_each_point_is_where_its_ranks_are_in_the_colour_of_its_kind(self):
        figure = trade_off(both(SPARSITY, PLAUSIBILITY) | {"nice-thorough": (1.2, 3.9), "mine": (9.0, 9.0)})
        drawn = {
            label: line(figure, label)
            for label in ("NICE, as in the paper", "benchmarks of the paper", "beyond the paper")
        }
        assert drawn["NICE, as in the paper"].get_xydata().tolist() == [
            [5.17, 3.10],
            [1.42, 4.07],
            [1.67, 4.15],
            [3.33, 3.27],
        ]
        assert len(drawn["benchmarks of the paper"].get_xydata()) == 6
        assert drawn["beyond the paper"].get_xydata().tolist() == [[1.2, 3.9], [9.0, 9.0]]
        assert (
            len({one.get_color() for one in drawn.values()}) == len({one.get_marker() for one in drawn.values()}) == 3
        )

    def test_the_methods_beyond_the_paper_can_be_said(self):
        figure = figures.trade_off({"nice-none": (1, 2), "wit": (2, 1)}, "x", "y", "title", {"nice-none"})
        assert line(figure, "beyond the paper").get_xydata().tolist() == [[1, 2]]
        assert "NICE, as in the paper" not in written(figure)

    def test_the_frontier_steps_through_the_methods_that_are_not_dominated(self):
        figure = trade_off({"a": (1, 4), "b": (3, 2), "c": (4, 3), "d": (2, 4)})
        right, top = figure.axes[0].get_xlim()[1], figure.axes[0].get_ylim()[1]
        corners = line(figure, "efficient frontier").get_xydata()
        steps = [corner for before, corner in pairwise(corners.tolist()) if corner != before]
        assert steps == [[1, 4], [3, 4], [3, 2], [right, 2]]
        assert corners[0].tolist() == [1, top]

    def test_the_names_on_the_frontier_are_bold(self):
        figure = trade_off(both(SPARSITY, PLAUSIBILITY))
        bold = {text.get_text() for text in figure.axes[0].texts if text.get_weight() == "bold"}
        assert bold == {"NICE (spars)", "NICE (plaus)", "NICE (none)"}

    def test_a_method_without_a_rank_is_left_out_and_a_note_says_so(self):
        figure = trade_off({"wit": (1, 2), "cbr": (2, 1), "geco": (nan, 1), "dice": (1, nan)})
        assert "Left out, without a rank: GeCo, DiCE" in written(figure)
        assert "GeCo" not in written(figure)

    def test_a_note_of_many_lines_has_room(self):
        missing = {f"a rather long name of a method {i}": (nan, nan) for i in range(12)}
        figure = trade_off(both(SPARSITY, PLAUSIBILITY) | {"nice-thorough": (2, 2)} | missing)
        assert texts_that_touch(figure) == []

    def test_of_no_methods(self):
        assert "no method has both ranks" in written(trade_off({}))
        assert "no method has both ranks" in written(trade_off({"wit": (nan, nan)}))

    def test_long_names_are_cut_and_long_titles_broken(self):
        figure = trade_off({"x" * 60: (1, 2), "wit": (2, 1)}, title="A title that goes on and on " * 5)
        assert "x" * 31 + "…" in written(figure)
        assert texts_that_touch(figure) == []


@drawing
class TestCriticalDifferenceDiagram:
    @pytest.mark.parametrize("ranks", [SPARSITY, PROXIMITY, PLAUSIBILITY])
    def test_every_method_is_named_with_its_rank_and_no_text_touches_another(self, ranks):
        figure = figures.critical_difference_diagram(ranks, CD, "Ranks")
        for method, rank in ranks.items():
            assert any(pretty(method) in words and f"{rank:.2f}" in words for words in written(figure))
        assert "CD = 0.151" in written(figure)
        assert texts_that_touch(figure) == []

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 14, 15, 30])
    @pytest.mark.parametrize("step", [0.0, 0.01, 0.4])
    def test_any_number_of_methods_near_ties_included(self, n, step):
        ranks = {f"method {i}": 1.5 + step * i for i in range(n)}
        figure = figures.critical_difference_diagram(ranks, CD, "Ranks")
        assert sum("method" in words for words in written(figure)) == n + 1  # and once in the note
        assert texts_that_touch(figure) == []

    def bars(self, figure):
        """First and last end of each bar, as the ranks that they are drawn at."""
        axes = figure.axes[0]
        at = {words: text.get_position()[0] for text in axes.texts if (words := text.get_text()).isdigit()}
        low, high = int(min(at, key=int)), int(max(at, key=int))
        unit = (at[str(high)] - at[str(low)]) / (high - low)
        thick = [one.get_xdata() for one in axes.get_lines() if one.get_linewidth() == 4]
        # Bars are drawn a little longer than they are.
        return [tuple(round(float(low + (x - at[str(low)]) / unit), 6) for x in (a + 0.04, b - 0.04)) for a, b in thick]

    def test_bars_join_what_is_not_significantly_different(self):
        assert self.bars(figures.critical_difference_diagram(PROXIMITY, CD, "")) == [
            (1.72, 1.86),
            (4.08, 4.10),
            (5.34, 5.34),
        ]
        assert self.bars(figures.critical_difference_diagram({"a": 1.0, "b": 1.5, "c": 1.9}, 0.6, "")) == [
            (1.0, 1.5),
            (1.5, 1.9),
        ]
        assert self.bars(figures.critical_difference_diagram({"a": 1.0, "b": 3.0}, 0.6, "")) == []

    def test_bars_that_overlap_are_on_lines_of_their_own(self):
        figure = figures.critical_difference_diagram({"a": 1.0, "b": 1.5, "c": 1.9, "d": 2.4}, 0.6, "")
        heights = [one.get_ydata()[0] for one in figure.axes[0].get_lines() if one.get_linewidth() == 4]
        assert heights[0] != heights[1] != heights[2]

    def test_lines_from_the_names_to_the_axis_do_not_cross(self):
        figure = figures.critical_difference_diagram(SPARSITY, CD, "")
        elbows = [one.get_xydata() for one in figure.axes[0].get_lines() if len(one.get_xydata()) == 3]
        assert len(elbows) == 10
        for one, other in permutations(elbows, 2):
            (x, _), (_, foot), _ = one
            (start, y), (end, _) = other[1:]
            assert not (min(start, end) < x < max(start, end) and y > foot)

    def test_the_ruler_is_as_long_as_the_critical_difference_on_the_axis(self):
        figure = figures.critical_difference_diagram({"a": 1.0, "b": 3.0}, 0.5, "")
        axes = figure.axes[0]
        at = {text.get_text(): text.get_position()[0] for text in axes.texts}
        ruler = max(
            (one for one in axes.get_lines() if len(set(one.get_ydata())) == 1), key=lambda one: one.get_ydata()[0]
        )
        assert np.ptp(ruler.get_xdata()) == pytest.approx((at["2"] - at["1"]) / 2)

    def test_a_ruler_longer_than_the_axis_still_fits(self):
        figure = figures.critical_difference_diagram({"a": 1.4, "b": 1.9, "c": 2.9}, 3.314, "One observation")
        assert "CD = 3.314" in written(figure)
        assert texts_that_touch(figure) == []

    def test_without_a_critical_difference_there_is_no_ruler(self):
        figure = figures.critical_difference_diagram({"a": 1.0, "b": 1.0}, nan, "")
        assert self.bars(figure) == []
        assert not any("CD" in words for words in written(figure))

    def test_a_method_without_a_rank_is_left_out_and_a_note_says_so(self):
        figure = figures.critical_difference_diagram({"wit": 1.0, "geco": nan, "cbr": 2.0}, 0.5, "")
        assert any("Left out, without a rank: GeCo" in words for words in written(figure))

    def test_of_no_methods(self):
        assert "no method has a rank" in written(figures.critical_difference_diagram({}, nan, ""))


@drawing
class TestGrowth:
    def test_every_line_is_named_and_no_text_touches_another(self):
        sizes = (5, 14, 57, 168)
        lines = {method: [(x, 0.01 * (i // 2 + 1) * x) for x in sizes] for i, method in enumerate(METHODS)}
        figure = figures.growth(lines, "features", "Growth")
        assert {pretty(method) for method in METHODS} <= set(written(figure))
        assert texts_that_touch(figure) == []
        looks = {(one.get_color(), one.get_linestyle()) for one in figure.axes[0].get_lines()}
        assert len(looks) == 14  # seven colours, drawn through and dashed

    def test_the_points_are_drawn_in_their_order_on_logarithmic_axes(self):
        figure = figures.growth({"wit": [(100, 3.0), (10, 1.0)]}, "rows", "Growth")
        axes = figure.axes[0]
        assert axes.get_lines()[0].get_xydata().tolist() == [[10, 1], [100, 3]]
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")

    @pytest.mark.parametrize("points", [[(700, 3.3)], [(1000, 2.0), (1001, 2.01)], [(1, 1e-3), (1e6, 2e6)]])
    def test_there_are_numbers_on_both_axes(self, points):
        figure = figures.growth({"wit": points}, "rows", "Growth")
        for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis):
            low, high = axis.get_view_interval()
            assert any(low <= place <= high for place in axis.get_majorticklocs())
            assert high / low > 4.9  # or the noise of two equal times would look like growth
        assert any(re.fullmatch(r"[\d.,]+", words) for words in written(figure))
        assert texts_that_touch(figure) == []

    def test_what_has_no_logarithm_is_left_out_and_a_note_says_so(self):
        figure = figures.growth(
            {"wit": [(10, 1.0), (nan, 2.0), (20, 0.0)], "geco": [(10, nan)], "cbr": []}, "rows", "Growth"
        )
        assert figure.axes[0].get_lines()[0].get_xydata().tolist() == [[10, 1]]
        assert "Left out, without a time: GeCo, CBR" in written(figure)

    def test_of_nothing(self):
        assert "nothing was measured" in written(figures.growth({}, "rows", "Growth"))


ALL = {
    "trade_off": lambda: trade_off(both(SPARSITY, PLAUSIBILITY)),
    "critical_difference_diagram": lambda: figures.critical_difference_diagram(SPARSITY, CD, "Ranks"),
    "growth": lambda: figures.growth({"wit": [(10, 1.0), (100, 3.0)]}, "rows", "Growth"),
}


@drawing
class TestFiles:
    @pytest.mark.parametrize("draw", ALL.values(), ids=ALL)
    def test_the_same_numbers_are_the_same_bytes(self, draw, tmp_path):
        for name in ("one", "two"):
            png, svg = figures.save(draw(), tmp_path / name)
            assert (png.name, svg.name) == (f"{name}.png", f"{name}.svg")
        for suffix in ("png", "svg"):
            assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
        assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
        assert b"matplotlib.org" not in (tmp_path / "one.svg").read_bytes() + (tmp_path / "one.png").read_bytes()
        assert len(list(tmp_path.iterdir())) == 4

    def test_a_dot_in_the_name_is_no_suffix(self, tmp_path):
        assert [path.name for path in figures.save(ALL["growth"](), str(tmp_path / "H_0.1"))] == [
            "H_0.1.png",
            "H_0.1.svg",
        ]

    @pytest.mark.parametrize("broken", ["write_bytes", "replace"])
    def test_what_cannot_be_written_leaves_what_was_there(self, broken, tmp_path, monkeypatch):
        (tmp_path / "a.png").write_text("before")

        def full(*_):
            raise OSError("No space left on device")

        monkeypatch.setattr(Path, broken, full)
        with pytest.raises(OSError, match="No space left"):
            figures.save(ALL["growth"](), tmp_path / "a")
        assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
        assert (tmp_path / "a.png").read_text() == "before"

    def test_the_settings_of_the_user_neither_count_nor_change(self, tmp_path):
        import matplotlib

        figures.save(ALL["trade_off"](), tmp_path / "one")
        with matplotlib.rc_context(
            {"axes.facecolor": "black", "font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9}
        ):
            before = dict(matplotlib.rcParams)
            figures.save(ALL["trade_off"](), tmp_path / "two")
            assert dict(matplotlib.rcParams) == before
        assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
        assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


@drawing
class TestSvg:
    def ids(self, svg):
        return re.findall(r'\sid="([^"]+)"', svg)

    def test_several_in_one_page_do_not_clash(self):
        drawn = [figures.as_svg(draw()) for draw in ALL.values()]
        ids = [one for svg in drawn for one in self.ids(svg)]
        assert len(ids) == len(set(ids)) > 100

    def test_what_an_id_is_asked_for_by_is_there(self):
        for draw in ALL.values():
            svg = figures.as_svg(draw(), "mine")
            asked = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
            assert asked
            assert asked <= set(self.ids(svg))
            assert all(one == "mine" or one.startswith("mine-") for one in self.ids(svg))

    def test_is_one_element_that_says_what_it_shows_and_asks_for_nothing_from_outside(self):
        svg = figures.as_svg(ALL["growth"]())
        root = ET.fromstring(svg)
        assert svg.startswith("<svg ")
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert (root.get("role"), root.get("aria-label")) == ("img", "Growth")
        assert {"rows", "WIT", "milliseconds per explanation"} <= {text.strip() for text in root.itertext()}
        assert set(re.findall(r"https?://[^\"\s]+", svg)) == {
            "http://www.w3.org/1999/xlink",
            "http://www.w3.org/2000/svg",
        }

    def test_its_style_is_for_itself_alone(self):
        svg = figures.as_svg(ALL["growth"](), "mine")
        assert re.findall(r"<style[^>]*>([^{]*)\{", svg) == ["#mine *"]

    def test_names_are_text_whatever_is_in_them(self):
        odd = '<script> "&amp;" id="x" url(#y) --> $5 and $6'
        figure = figures.trade_off({odd[:31]: (1, 2), "b": (2, 1)}, odd, "y", odd)
        root = ET.fromstring(figures.as_svg(figure))
        assert {odd, odd[:31]} <= {text.strip() for text in root.itertext()}
        assert root.get("aria-label") == odd
        assert not any(element.tag.endswith("script") for element in root.iter())


def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = "import sys, nicecf.benchmark.report.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@drawing
def test_pyplot_is_never_imported(tmp_path):
    code = (
        "import sys; from nicecf.benchmark.report import figures\n"
        f"figures.save(figures.growth({{'wit': [(1, 2), (2, 3)]}}, 'rows', 'title'), {str(tmp_path / 'a')!r})\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    for module in ("matplotlib", "matplotlib.style", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as caught:
        figures.growth({}, "rows", "title")
    assert str(caught.value) == (
        "nicecf benchmark report needs matplotlib, which is not installed. "
        "Install it with: pip install 'nicecf[benchmark]' (in a clone: pip install -e '.[benchmark]')"
    )
