"""What tabs have in common, in a real browser: tests with a row for each tab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tbcore_graphs.proto import graph_pb2
from tbcore_testing import EventFileWriter, summaries, write_run

STEPS = (0, 500, 1000)
START = 1_700_000_000.0
BUCKETS = 30
PEAK = 12
SERIES_TABS = ("distributions", "histograms")
"""Tabs with a card for each tag and run."""

# Lines have a colour, if a pale one; axes and grid are all but grey.
IS_LINE = "(color, alpha) => alpha > 200 && Math.max(...color) - Math.min(...color) > 28"

HELPERS = """
globalThis.cells = {
  cell: (tag, run) => tb.card(tag)?.querySelector(`.tb-step-cell[aria-label="${run}"]`),
  text: (tag, run) => cells.cell(tag, run)?.textContent ?? '',
};
// Whether a canvas has a pixel that `isSeen` accepts, given its red, green, blue and alpha.
globalThis.hasPixel = (canvas, isSeen) => {
  if (!canvas) return false;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) {
    if (isSeen([data[i], data[i + 1], data[i + 2]], data[i + 3])) return true;
  }
  return false;
};
"""


def samples() -> list[float]:
    """Samples whose 30 buckets of equal width have edges at whole numbers."""
    counts = [60 if k == PEAK else 1 + k % 4 for k in range(BUCKETS)]
    inside = [k + 0.5 for k, count in enumerate(counts) for _ in range(count)]
    return [0.0, *inside[1:-1], float(BUCKETS)]


def image(width: int) -> bytes:
    return summaries.png(width, 6, rgb=(9 * width % 256, 120, 60))


def clip(seconds: float) -> bytes:
    return summaries.wav(np.sin(np.arange(int(8000 * seconds)) / 4) / 2)


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run for each tab, with the tab's name."""
    logdir = tmp_path_factory.mktemp("logdir")
    write_run(logdir, "scalars", scalars={"part/loss": [1.0, 0.5]})
    for name in ("histograms", "sweep/a/train"):
        points = [(step, samples(), START + step) for step in STEPS]
        write_run(logdir, name, histograms={"layer1/weights": points})
    pictures = [(10 * i, image(10 + i)) for i in range(25)]
    clips = [(10 * i, clip(0.1 + 0.1 * i)) for i in range(14)]
    write_run(logdir, "images", images={"input/digit": pictures})
    write_run(logdir, "audio", audio={"speech": clips})
    write_run(logdir, "text", texts={"report": ["some words"]})
    graph = graph_pb2.GraphDef()
    graph.node.add(name="scope/op", op="NoOp")
    write_run(logdir, "graphs", graph=graph.SerializeToString())
    with EventFileWriter(logdir / "mesh" / "a.tfevents") as writer:
        corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
        writer.add_summary(1, *summaries.mesh("shape", [corners], [[[0, 1, 2]]]))
    with EventFileWriter(logdir / "other" / "a.tfevents") as writer:
        writer.add_summary(4, summaries.image("broken", b"no picture", width=5, height=5))
        noise = summaries.audio("broken clip", b"no sound", content_type="audio/wav")
        writer.add_summary(4, noise)
        writer.add_summary(4, summaries.pr_curve("cats", [True, False], [0.75, 0.5]))
    return serve_for_module(logdir)


NARROW = {
    "#scalars&query=scalars": "tb.label('part/loss').includes('by step from 0 to 1')",
    "#distributions&tagQuery=layer1": (
        "tb.label('layer1/weights in histograms').includes('by step from 0 to 1,000')"
    ),
    "#histograms&tagQuery=layer1": (
        "hasPixel(tb.canvas('layer1/weights in histograms'), (_, alpha) => alpha === 255)"
    ),
    "#images&tagQuery=input&images.size=8&images.bright=120": (
        "cells.cell('input/digit', 'images')?.querySelector('img')?.naturalWidth === 34"
    ),
    "#audio": "cells.cell('speech', 'audio')?.querySelector('audio')?.src.includes('index=13&')",
    "#mesh": "hasPixel(cells.cell('shape', 'mesh')?.querySelector('canvas'), (_, a) => a === 255)",
    "#text": "cells.text('report', 'text').includes('some words')",
    "#pr_curves": "tb.card('cats')?.querySelectorAll('.pr-plot path').length > 0",
    "#graphs": "tb.all('.frame')[0]?.getAttribute('aria-busy') === 'false'",
}
"""The condition that a tab shows its data, by the address of the tab."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("hash", NARROW)
def test_a_narrow_page_does_not_scroll_sideways(open_page: Any, hash: str, scheme: str) -> None:
    page = open_page(hash, viewport={"width": 400, "height": 800}, color_scheme=scheme)
    page.wait_for_function(f"() => {NARROW[hash]}")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert page.evaluate("() => document.documentElement.dataset.theme") == scheme


NO_TAG = "No tag of the selected runs matches “xyz”."
NOTHING = {
    "#distributions&tagQuery=xyz": NO_TAG,
    "#distributions&query=scalars": (
        "The selected runs have no histograms to compute percentiles from."
    ),
    "#histograms&tagQuery=xyz": NO_TAG,
    "#histograms&query=scalars": "The selected runs have no histograms.",
    "#histograms&query=no_such_run": ("No runs are shown."),
    "#images&tagQuery=xyz": NO_TAG,
    "#images&query=scalars": "The selected runs have no images.",
}


@pytest.mark.parametrize("hash", NOTHING)
def test_empty_states_say_why(open_page: Any, hash: str) -> None:
    page = open_page(hash)
    page.wait_for_function(
        "(text) => tb.all('.tb-nothing')[0]?.textContent === text", arg=NOTHING[hash]
    )


@pytest.mark.parametrize("tab", ["scalars", "distributions"])
def test_a_lone_percent_sign_in_the_address_is_literal(open_page: Any, tab: str) -> None:
    """Such addresses are typed by hand; all tabs of tags share this code."""
    page = open_page(f"#{tab}&{tab}.pinned=100%25&{tab}.closed=50%25")
    card = {"scalars": "part/loss", "distributions": "layer1/weights in histograms"}[tab]
    page.wait_for_function(f"(card) => hasPixel(tb.canvas(card), {IS_LINE})", arg=card)


# Histograms and distributions --------------------------------------------------------------------


def check_histograms(lines: list[str], drawing: Any) -> None:
    """The CSV file has every bucket, and the drawing a ridge for each step."""
    assert lines[0] == "Wall time,Step,Left,Right,Count"
    assert len(lines) == 1 + len(STEPS) * BUCKETS
    assert lines[1 + PEAK] == f"1700000000,0,{PEAK},{PEAK + 1},60"
    fills = [path for path in drawing.findall(".//{*}path") if path.get("fill", "none") != "none"]
    assert len(fills) == len(STEPS)
    assert all((path.get("d") or "").count("L") > BUCKETS for path in fills)


def check_distributions(lines: list[str], drawing: Any) -> None:
    """The CSV file has the percentiles of each step, and the drawing their bands."""
    assert lines[0].startswith("Wall time,Step,0 %,6.68 %,15.87 %")
    assert len(lines) == 1 + len(STEPS)
    assert len([path for path in drawing.iter() if path.get("fill-opacity") == "0.18"]) == 4


@pytest.mark.parametrize("tab", SERIES_TABS)
def test_a_card_can_be_downloaded(open_page: Any, tab: str) -> None:
    """JSON has the server's rows, SVG and PNG the chart."""
    page = open_page(f"#{tab}&tagQuery=layer1&query=sweep/a")
    page.wait_for_function("() => tb.label('layer1/weights in sweep/a/train').includes('from')")
    page.get_by_role("button", name="Download layer1/weights in sweep/a/train").click()
    files = {}
    for kind, role in (("CSV", "button"), ("JSON", "link"), ("SVG", "button"), ("PNG", "button")):
        with page.expect_download() as download:
            page.get_by_role(role, name=kind, exact=True).click()
        assert download.value.suggested_filename == f"sweep_a_train_layer1_weights.{kind.lower()}"
        files[kind] = Path(download.value.path()).read_bytes()
    check = {"histograms": check_histograms, "distributions": check_distributions}[tab]
    check(files["CSV"].decode().splitlines(), ElementTree.fromstring(files["SVG"]))
    assert [row[1] for row in json.loads(files["JSON"])["rows"]] == list(STEPS)
    assert files["PNG"].startswith(b"\x89PNG")


@pytest.mark.parametrize("tab", SERIES_TABS)
def test_new_steps_appear_and_only_changed_runs_are_fetched_again(
    serve: Any, profile: Any, tmp_path: Path, tab: str
) -> None:
    """A chart keeps its canvas; a run that is logged later appears too."""
    logdir = tmp_path / "live"
    rng = np.random.default_rng(0)

    def write(run: str, *steps: int) -> None:
        with EventFileWriter(logdir / run / "events.out.tfevents.1") as writer:
            for step in steps:
                writer.add_histogram("weights", rng.normal(size=300), step)

    def wait_for_card(page: Any, run: str) -> None:
        page.wait_for_function(
            "(run) => tb.pixels(`weights in ${run}`, tb.colors()[run] ?? '#000001') >= 60", arg=run
        )

    write("still", 0, 1)
    write("moves", 0, 1)
    page = profile.open(serve(logdir).url, f"#{tab}")
    wait_for_card(page, "still")
    wait_for_card(page, "moves")
    canvas = page.evaluate_handle("() => tb.canvas('weights in moves')")
    write("moves", 400)
    page.wait_for_function("() => /from (step )?0 to 400/.test(tb.label('weights in moves'))")
    if tab == "histograms":
        assert "3 histograms from step" in page.evaluate("() => tb.label('weights in moves')")
    assert page.evaluate("(canvas) => canvas === tb.canvas('weights in moves')", canvas)
    requests = [url for url in profile.requested_urls if f"/{tab}/series?" in url]
    assert sum("run=still" in url for url in requests) == 1
    assert sum("run=moves" in url for url in requests) == 2
    write("late", 0, 1)
    wait_for_card(page, "late")


# Images and audio ---------------------------------------------------------------------------------


@pytest.mark.parametrize("noun", ["image", "clip"])
def test_the_logged_bytes_can_be_downloaded(open_page: Any, noun: str) -> None:
    hash, sample, name, data = {
        "image": (
            "#images&tagQuery=digit&step=60", "images, input/digit",
            "images_input_digit_step60.png", image(16),
        ),
        "clip": (
            "#audio&tagQuery=speech&step=20", "audio, speech",
            "audio_speech_step20.wav", clip(0.3),
        ),
    }[noun]  # fmt: skip
    page = open_page(hash)
    with page.expect_download() as download:
        page.get_by_role("link", name=f"Download {noun} of {sample}").click()
    assert download.value.suggested_filename == name
    assert Path(download.value.path()).read_bytes() == data


@pytest.mark.parametrize(("tab", "noun"), [("images", "image"), ("audio", "clip")])
def test_other_data_shows_an_error(open_page: Any, tab: str, noun: str) -> None:
    """It can still be downloaded."""
    page = open_page(f"#{tab}&tagQuery=broken")
    cell = page.locator(".tb-step-cell")
    cell.wait_for()
    if tab == "audio":
        cell.locator("audio").evaluate("(player) => player.play().catch(() => {})")
    cell.get_by_text(f"cannot show this {noun}").wait_for()
    with page.expect_download() as download:
        cell.get_by_role("link", name="Download").click()
    data = {"image": b"no picture", "clip": b"no sound"}[noun]
    assert Path(download.value.path()).read_bytes() == data


@pytest.mark.parametrize("tab", ["images", "audio"])
def test_a_deleted_file_is_reported(serve: Any, profile: Any, tmp_path: Path, tab: str) -> None:
    """A cell shows an error that names the file, when its image or clip is wanted."""
    data = {"images": [image(10), image(11)], "audio": [clip(0.1), clip(0.2)]}
    path = write_run(tmp_path / "gone", "run", **{tab: {"a": data[tab]}})
    page = profile.open(serve(tmp_path / "gone", "--reload_interval", "0").url, f"#{tab}")
    if tab == "images":
        page.wait_for_function("() => tb.all('img')[0]?.naturalWidth === 11")
        path.unlink()
        # A single card has no slider beside the one that moves all.
        assert page.get_by_role("slider").count() == 1
        page.get_by_role("slider", name="Step of all images").press("Home")
    else:
        page.locator("audio").wait_for()
        path.unlink()
        page.locator("audio").evaluate("(player) => player.play().catch(() => {})")
    error = page.locator(".tb-step-error")
    error.wait_for()
    assert path.name in error.inner_text()
    assert all("404" in fault for fault in profile.errors)  # which the browser logs
    profile.expects_errors = True


# Real logs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_server(serve_for_module: Any, real_logs: Path) -> Any:
    return serve_for_module(real_logs)


REAL = {
    "scalars": f"""() => tb.all('.tb-chart-canvas').length >= 9 &&
      tb.all('.tb-chart-canvas').every((canvas) => hasPixel(canvas, {IS_LINE}))""",
    "distributions": """() => tb.all('.tb-chart').length >= 6 && tb.all('.tb-chart').every(
      (chart) => (chart.getAttribute('aria-label') ?? '').includes('by step from'))""",
    "histograms": r"""() => tb.all('.tb-chart').length >= 6 && tb.all('.tb-chart').every(
      (chart) => /: [\d,]+ histograms? from step/.test(chart.getAttribute('aria-label')))""",
    "images": """() => tb.all('img').length > 10 &&
      tb.all('img').every((image) => image.naturalWidth > 0)""",
    "audio": "() => tb.all('audio').length > 0",
}


@pytest.mark.parametrize("tab", REAL)
def test_real_logs_are_shown(real_server: Any, profile: Any, tab: str) -> None:
    """Files from many writers and years: what is visible is drawn, without an error."""
    page = profile.open(real_server.url, f"#{tab}")
    page.wait_for_function(REAL[tab])
    if tab in SERIES_TABS:
        assert page.evaluate("() => tb.all('.tb-card-error').length") == 0
    if tab == "audio":
        # Cells before it may still come, so that it is not the first for long.
        player = page.locator("audio").first.element_handle()
        player.evaluate("(player) => { player.muted = true; player.play(); }")
        page.wait_for_function("(player) => player.currentTime > 0", arg=player)
