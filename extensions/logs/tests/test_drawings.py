"""Tables and lines for notebooks."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from commands import on_terminal, piped
from numpy.typing import NDArray

import tbcore
from tbcore_logs.drawings import chart_svg, colors_of, line_svg, table_html
from tbcore_logs.printing.drawing import braille_chart
from tbcore_testing import write_run

FIGURES = json.loads((Path(__file__).parents[3] / "tests" / "colors.json").read_text("utf-8"))
NASTY = '<script>alert("x")</script>\n&'


def parsed(html: str) -> ElementTree.Element:
    """The drawing as a tree: all of it must be well-formed, and without scripts."""
    assert "<script" not in html
    assert not re.search(r"\son\w+=", html)
    return ElementTree.fromstring(f"<div>{html}</div>")


def in_notebook(value: Any) -> ElementTree.Element:
    """What a notebook shows of a value, as `parsed` has it."""
    return parsed(value._repr_html_())


def points_of(svg: str) -> list[tuple[float, float]]:
    """The corners of the line, in pixels from the upper left."""
    line = parsed(svg).find(".//{*}polyline")
    assert line is not None
    return [(float(x), float(y)) for x, y in (p.split(",") for p in line.attrib["points"].split())]


def test_cells_are_escaped_and_floats_rounded() -> None:
    table = parsed(table_html(["a", NASTY], [[1, 1 / 3], [NASTY, None]], NASTY))

    assert [cell.text for cell in table.iter("th")] == ["a", NASTY.replace("\n", "\\n")]
    assert [cell.text for cell in table.iter("td")] == [
        "1", "0.333333", NASTY.replace("\n", "\\n"), "None",
    ]  # fmt: skip


def test_a_line_fills_the_drawing() -> None:
    """The lowest value is at the bottom, and y grows downwards."""
    corners = points_of(
        line_svg(np.array([10, 20, 30]), np.array([1.0, 3.0, 2.0]), width=104, height=24)
    )

    assert corners == [(2, 22), (52, 2), (102, 12)]


def dots_of(x: NDArray[Any], y: NDArray[Any]) -> str:
    """Whether each column of a text chart has dots, `#`, or none, `.`."""
    lines = [line.partition("│")[2] for line in braille_chart([(x, y)], width=53, height=6)[:-2]]
    return "".join(".#"[any(c != "\u2800" for c in column)] for column in zip(*lines, strict=True))


@pytest.mark.parametrize("times", [1, 100, 10_000])
def test_a_line_has_gaps_where_values_are_not_finite(times: int) -> None:
    """Also a line of many points, of which some are drawn, and the edges of a band."""
    y = np.array([np.nan, 1.0, 3.0, 2.0, np.inf, np.nan, np.nan, 2.0, 1.0, -np.inf]).repeat(times)
    x = np.arange(len(y))
    drawing = parsed(line_svg(x, y, width=100))
    band = parsed(chart_svg([(x, y, "red", "a")], bands=[(x, y - 1, y + 1, "red")], width=100))
    assert len(drawing.findall(".//{*}polyline")) == len(band.findall(".//{*}polygon")) == 2
    lines = [line.attrib["points"].split() for line in drawing.findall(".//{*}polyline")]
    columns = [float(point.split(",")[0]) for line in lines for point in (line[0], line[-1])]
    ends = np.array([times, 4 * times - 1, 7 * times, 9 * times - 1])
    scaled = 2 + 96 * (ends - ends[0]) / (ends[-1] - ends[0])
    assert columns == pytest.approx(scaled, abs=0.1)
    assert re.fullmatch("#+[.]{10,}#+", dots_of(x, y))
    assert set(dots_of(x, np.where(np.isfinite(y), y, 2))) == {"#"}


def test_values_that_are_not_finite_are_left_out() -> None:
    y = np.array([np.nan, 1, np.inf, 2, -np.inf])
    assert len(parsed(line_svg(np.arange(5), y)).findall(".//{*}circle")) == 2
    assert line_svg(np.arange(2), np.array([np.nan, np.inf])) == ""
    assert line_svg(np.arange(0), np.array([])) == ""


@pytest.mark.parametrize("value", [0.0, -3.5, 1.7e308])
def test_a_flat_line_is_in_the_middle(value: float) -> None:
    corners = points_of(line_svg(np.arange(3), np.full(3, value), height=24))
    assert [y for _, y in corners] == [12, 12, 12]


def test_a_line_from_the_lowest_to_the_highest_double_is_drawn() -> None:
    corners = points_of(line_svg(np.arange(3), np.array([-1.7e308, 0, 1.7e308]), height=24))
    assert [y for _, y in corners] == [22, 12, 2]


def test_a_single_point_is_a_dot() -> None:
    assert parsed(line_svg(np.array([3]), np.array([1.0]))).find(".//{*}circle") is not None


def test_of_many_points_the_extremes_are_kept() -> None:
    """A million points take a few kilobytes."""
    y = np.zeros(1_000_000)
    y[[123_456, 765_432]] = 1, -1
    svg = line_svg(np.arange(len(y)), y, width=100, height=24)

    assert len(svg) < 10_000
    assert {22, 2} < {down for _, down in points_of(svg)}


def test_a_line_with_a_label_has_axes_with_round_numbers() -> None:
    """Each is at its place between the ends of the line."""
    svg = line_svg(np.array([100, 20_000]), np.array([0.25, 8.0]), label="<step>")
    texts = {text.text: text.attrib for text in parsed(svg).findall(".//{*}text")}

    assert list(texts) == ["<step>", "5000", "10000", "15000", "20000", "2", "4", "6", "8"]
    (_, bottom), (right, top) = points_of(svg)
    assert float(texts["20000"]["x"]) == right
    assert float(texts["8"]["y"]) == pytest.approx(top + 4)
    row = bottom - (2 - 0.25) / (8 - 0.25) * (bottom - top)
    assert float(texts["2"]["y"]) == pytest.approx(row + 4, abs=0.1)


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        ([3.0, 3.0], ["3"]),
        ([float(np.float32(0.1))] * 2, ["0.1"]),
        ([-0.25, 0.5], ["-0.2", "0", "0.2", "0.4"]),
        ([-1.7e308, 1.7e308], ["-1.7e+308", "1.7e+308"]),
        ([0.0, 5e-324], ["0", "4.94066e-324"]),
        ([1e15, 1e15 + 1], ["1e+15", "1e+15"]),
        ([1.0, 1.0 + 2**-52], ["1", "1"]),
    ],
)
def test_every_extent_has_labels(y: list[float], labels: list[str]) -> None:
    texts = parsed(line_svg(np.array([0, 1]), np.array(y), label="step")).findall(".//{*}text")
    assert [text.text for text in texts if text.attrib["text-anchor"] == "end"] == labels


def test_a_series_plots_as_svg_or_to_given_axes(tmp_path: Path) -> None:
    class Axes:
        """What is used of matplotlib's."""

        def plot(self, *columns: np.ndarray[Any, Any]) -> None:
            self.points = [column.tolist() for column in columns]

        def set_xlabel(self, label: str) -> None:
            self.label = label

    write_run(tmp_path, scalars={"loss": [(10, 2.0), (20, 1.0)], "nan": [float("nan")]})
    run = tbcore.open(tmp_path)["."]
    drawing = run["loss"].plot()

    assert drawing._repr_html_() == drawing
    assert run["loss"]._repr_html_().startswith(drawing)
    assert len(points_of(drawing)) == 2
    assert run["nan"].plot() == ""
    axes = Axes()
    assert run["loss"].plot(ax=axes) is axes
    assert (axes.points, axes.label) == ([[10, 20], [2.0, 1.0]], "step")


def test_times_of_a_table_are_dates(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [(0, 1.0, 1.7e9), (1, 1.0, float("nan"))]})
    cells = in_notebook(tbcore.open(tmp_path).scalars()).iter("td")

    assert [cell.text for cell in cells][3::5] == ["2023-11-14 22:13:20", "None"]


def test_logs_runs_series_and_tables_draw_themselves(tmp_path: Path) -> None:
    """Names from logs are escaped; what was not read is not read for a drawing of the logs."""
    tags = {NASTY: [1.0, 2.0], "nan": [float("nan")]}
    write_run(tmp_path, "a&b", scalars=tags, hparams={NASTY: "<b>"}, wall_time=1.0)
    for index in range(60):
        write_run(tmp_path, f"{index}", scalars={"loss": [1]})
    logs = tbcore.open(tmp_path)

    runs = in_notebook(logs)
    assert not any(run.is_read for run in logs.runs.values())
    assert len(list(runs.iter("tr"))) == 51
    run = in_notebook(logs["a&b"])
    assert len(run.findall(".//{*}svg")) == 1
    assert NASTY.replace("\n", "\\n") in [cell.text for cell in run.iter("td")]
    assert "<b>" in [cell.text for cell in run.iter("td")]
    series = in_notebook(logs["a&b"][NASTY])
    cells = [cell.text for cell in series.iter("td")]
    assert cells == ["last", "1", "2", "min", "0", "1", "max", "1", "2"]
    in_notebook(logs["a&b"]["nan"])
    table = in_notebook(logs.scalars())
    assert [caption.text for caption in table.iter("caption")] == ["63 rows, 5 columns"]
    assert len(list(table.iter("tr"))) == 12
    assert "..." in [cell.text for cell in table.iter("td")]
    in_notebook(logs.scalars("nan").wide())
    in_notebook(logs.scalars([]))
    assert "a&b" in [cell.text for cell in in_notebook(logs).iter("td")]


@pytest.mark.parametrize("figure", FIGURES["figures"])
def test_lines_have_the_colours_of_the_page(figure: Any) -> None:
    names = list(figure["colors"])
    all_names = [*names, *figure["others"]]
    assert colors_of(names, all_names, figure["scheme"]) == figure["colors"]


def test_several_runs_are_in_one_chart_and_smoothed(tmp_path: Path) -> None:
    """The points of each, with its name; those at its ends are not thinned out."""
    lines = {f"a/{i}": [float(i), math.nan, *[2.0 - i] * 40] for i in range(2)}
    for run, values in lines.items():
        write_run(tmp_path, run, scalars={"loss": values})
    write_run(tmp_path, "a/2", scalars={"acc": [1.0]})
    path = tmp_path / "loss.svg"
    for chosen in ("a/*", "a/0,a/1"):
        rows = json.loads(piped("show", tmp_path, chosen, "loss", "--json").stdout)
        found = {run: [row["value"] for row in rows if row["run"] == run] for run in lines}
        assert found["a/1"] == [1.0, "NaN", *[1.0] * 40]
        few = json.loads(
            piped("show", tmp_path, chosen, "loss", "--json", "--max_bytes", "800").stdout
        )
        ends = {(run, step) for run in lines for step in (0, 1, 41)}
        assert ends <= {(row.get("run"), row.get("step")) for row in few}
        assert piped("show", tmp_path, chosen, "loss", "-o", path).returncode == 0
        assert {">a/0</text>", ">a/1</text>"} <= set(re.findall(">[^<]*</text>", path.read_text()))
    given = ["show", tmp_path, "a/?", "loss", "--smooth", "0.5"]
    smoothed = [row["value"] for row in json.loads(piped(*given, "--json").stdout)]
    expected = tbcore.open(tmp_path)["a/0"]["loss"].smooth(0.5).value
    assert smoothed[2:42] == pytest.approx(expected[2:].tolist(), rel=1e-8)
    assert smoothed[1] == "NaN"
    status, text = on_terminal(*given, columns=60, rows=20)
    title, *chart = text.splitlines()
    assert (status, "loss, smoothed by 0.5" in title, len(chart)) == (0, True, 15)
    facts = ": 42 points, first 0 at 0, last 2 at 41, min 0 at 0, max 2 at 41, 1 NaN or infinite"
    assert chart[-2].startswith(f"\x1b[36ma/0\x1b[0m{facts}"), chart[-2]
    assert "\x1b[36m" in "".join(chart[:-2])
    assert "\x1b" not in on_terminal(*given, columns=60, NO_COLOR="1")[1]
