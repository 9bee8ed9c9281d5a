"""One step for all tabs: what shows it, what moves it, and where it does not count."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, summaries, write_run

STEPS = {"often": range(0, 1001, 200), "rare": range(0, 1001, 300), "late": range(700, 1001, 100)}
"""What is logged less often than curves; curves have every 20th step, to 1,000."""
HELPERS = """
globalThis.cell = (run) => tb.all(`.tb-step-cell[aria-label="${run}"]`)[0]?.innerText ?? '';
globalThis.curve = (run) => tb.all('.pr-values tbody tr')
  .filter(({ cells }) => cells[0].title === run).map((row) => row.innerText)[0] ?? '';
globalThis.ridges = (run) => tb.all(`.tb-card[aria-label$="in ${run}"]`)[0]?.innerText ?? '';
globalThis.pin = () =>
  tb.all('.tb-chart-pin:not([hidden]) [role=slider]')[0]?.ariaValueNow ?? 'none';
globalThis.shown = () => tb.all('iframe')[0]?.contentDocument.body?.textContent ?? '';
"""
PYTHON = """
from starlette.routing import Route
from tbcore import Claim, PluginInfo, hookimpl
from tbcore.http import json_response
from tbcore.media import Media, Sample
from tbcore.values import tensor

CLAIMS = [Claim("tensor", plugin_name="matrices")]

@hookimpl
def plugin_info():
    return PluginInfo(title={title!r}, claims=CLAIMS, page={page!r})

@hookimpl
def routes(multiplexer):
    decode = lambda value, metadata: [Sample(fields={{"rows": tensor(value)}})]
    return Media(multiplexer, CLAIMS, decode).routes()
"""
MATRICES = """
import { html } from "htm/preact";
import { renderStepTab } from "tbcore/steps.js";

const kind = { noun: "matrix", nouns: "matrices", Sample: ({ entry }) => html`${entry.rows[0]}` };
export default { render: (host) => renderStepTab(host, kind) };
"""
CURVES = """
import { LineChart, makeCursor } from "tbcore/chart.js";

export default {
  render(host) {
    const cursor = makeCursor();
    host.step.subscribe((step) => cursor.pin(step));
    const onPin = (step, settled) => settled && host.step.set(step);
    host.element.append(document.createElement("div"));
    host.element.firstChild.style.height = "300px";
    const chart = new LineChart(host.element.firstChild, { label: "own", cursor, onPin });
    const step = Float64Array.from({ length: 51 }, (_, i) => 20 * i);
    chart.setLines([{ name: "a", color: "#3366cc", step, wallTime: step, value: step }]);
    return () => chart.destroy();
  },
};
"""
FRAMED = """<!doctype html><meta charset="utf-8"><title>A page</title><body>
<script type="module" src="app.js"></script>"""
FRAMED_JS = """
import { connect } from "../../tbcore/frame.js";

globalThis.host = await connect();
host.step.subscribe((step) => { document.body.textContent = `at ${step}`; });
"""


def of_runs(function: str, late: str) -> str:
    """Whether each run shows its last step at or before the step 480, or says it has none."""
    return f"{function}('often').includes('400') && {function}('rare').includes('300')" + (
        f" && {function}('late').includes({late!r})"
    )


CELLS = of_runs("cell", "Nothing was logged up to step 480. The first step is 700.")
AT_480 = {
    "Images": CELLS,
    "Text": CELLS,
    "Audio": CELLS,
    "Mesh": CELLS,
    "Matrices": CELLS,
    "PR Curves": of_runs("curve", "Nothing was logged up to step 480. The first step is 700."),
    "Histograms": of_runs("ridges", "nothing up to step 480"),
    "Distributions": "pin() === '480' && " + of_runs("ridges", "nothing up to step 480"),
    "Custom Scalars": "pin() === '480'",
    "Curves": "pin() === '480'",
    "Page": "shown() === 'at 480'",
    "Scalars": "pin() === '480'",
}
"""By the title of a tab, what is true in it at the step 480."""
AT_LATEST = dict.fromkeys(AT_480, "cell('often').includes('1,000') && cell('rare').includes('900')")
AT_LATEST |= {
    "PR Curves": "curve('often').includes('1,000') && curve('rare').includes('900')",
    "Histograms": "ridges('often') && !/outlined|nothing/.test(ridges('often'))",
    "Page": "shown() === 'at null'",
    **dict.fromkeys(
        ["Distributions", "Custom Scalars", "Curves", "Scalars"],
        "tb.all('.tb-chart-canvas').length && pin() === 'none'",
    ),
}


def write_logs(logdir: Path) -> None:
    for run, steps in STEPS.items():
        with EventFileWriter(logdir / run / "a.tfevents") as writer:
            layout = {"losses": {"both": ["Multiline", ["loss"]]}}
            writer.add_summary(0, summaries.chart_layout(layout))
            for step in range(0, 1001, 20):
                writer.add_scalar("loss", 1 / (step + 1), step)
            for step in steps:
                writer.add_image("i", summaries.png(8, 8), step)
                writer.add_text("t", f"at {step}", step)
                writer.add_audio("a", summaries.wav(), step)
                writer.add_histogram("h", [0.0, 1.0, 2.0], step)
                writer.add_summary(
                    step, *summaries.mesh("m", [[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])
                )
                writer.add_summary(step, summaries.pr_curve("p", [True, False], [0.7, 0.2]))
                writer.add_tensor("x", [[step, 0]], step, plugin_name="matrices")


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """With three plugins of others: a step tab, a chart, and a page of its own."""
    folder = tmp_path_factory.mktemp("step")
    plugins = folder / "plugins"
    (plugins / "framed").mkdir(parents=True)
    for name, page in (("matrices", None), ("curves", None), ("framed", "static/index.html")):
        title = {"framed": "Page"}.get(name, name.title())
        path = plugins / (f"{name}/__init__.py" if page else f"{name}.py")
        path.write_text(PYTHON.format(title=title, page=page))
    (plugins / "matrices.js").write_text(MATRICES)
    (plugins / "curves.js").write_text(CURVES)
    (plugins / "framed" / "static").mkdir()
    (plugins / "framed" / "static" / "index.html").write_text(FRAMED)
    (plugins / "framed" / "static" / "app.js").write_text(FRAMED_JS)
    write_logs(folder / "logs")
    return serve_for_module(folder / "logs", "--plugins_dir", str(plugins))


def wait(page: Any, condition: str) -> None:
    page.wait_for_function(f"() => {condition}")


def click_at(page: Any, step: int, card: str = ".tb-plugin") -> None:
    """Clicks into the plot of a chart, whose steps go to 1,000; its axis has 2 % more."""
    plot = page.locator(f"{card} .tb-chart-plot")
    plot.wait_for()
    wait(page, f"tb.all(\"{card} .tb-chart\")[0].ariaLabel.includes('1,000')")
    box = plot.bounding_box()
    x = box["x"] + (step + 20) / 1040 * box["width"]
    page.mouse.move(x, box["y"] + 40, steps=2)
    wait(page, "tb.all('.tb-chart-tooltip:popover-open').length === 1")
    page.mouse.down()
    page.mouse.up()


def test_a_click_in_a_curve_moves_every_tab(server: Any, profile: Any) -> None:
    """A run without the step says what it shows. Unpinning shows the latest everywhere."""
    page = profile.open(server.url, "#scalars")
    click_at(page, 480)
    wait(page, "location.hash === '#scalars&step=480'")
    for title, is_there in AT_480.items():
        page.get_by_role("tab", name=title, exact=True).click()
        wait(page, is_there)
    page.get_by_role("button", name="Unpin").first.click()
    wait(page, "location.hash === '#scalars'")
    for title, is_there in AT_LATEST.items():
        page.get_by_role("tab", name=title, exact=True).click()
        wait(page, is_there)


def test_every_tab_moves_the_curves(server: Any, profile: Any) -> None:
    """By keys, by a click, and by what a page sets; a click on what is shown unpins."""

    def expect(step: int, back: str) -> None:
        wait(page, f"location.hash.endsWith('&step={step}')")
        page.get_by_role("tab", name="Scalars", exact=True).click()
        wait(page, f"pin() === '{step}'")
        page.get_by_role("tab", name=back, exact=True).click()

    page = profile.open(server.url, "#images")
    wait(page, "cell('often').includes('1,000')")
    for title in ("Images", "Text", "Audio", "Mesh", "Matrices", "PR Curves"):
        page.get_by_role("tab", name=title, exact=True).click()
        page.get_by_role("slider", name="Step of all").wait_for()
        page.keyboard.press("[")
        expect(900, title)
        page.get_by_role("slider", name="Step of all").wait_for()
        for _ in range(2):  # to the last place, where it stays pinned
            page.keyboard.press("]")
            page.get_by_role("button", name="Step 1,000 in all tabs").wait_for()
    page.get_by_role("tab", name="Distributions", exact=True).click()
    click_at(page, 400, ".tb-card[aria-label='h in often']")
    expect(400, "Custom Scalars")
    click_at(page, 440)
    expect(440, "Curves")
    click_at(page, 460)
    expect(460, "Histograms")
    wait(page, "ridges('often').includes('outlined: step 400, last up to 460')")
    ridge = page.locator(".tb-card[aria-label='h in often'] .tb-chart")
    ridge.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(800, "Histograms")
    for step in ("1000", ""):  # that of the first ridge, and the latest after another click
        wait(page, "/outlined: step (800|1,000)/.test(ridges('often'))")
        box = page.locator(".tb-card[aria-label='h in often'] .tb-chart-plot").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2, steps=2)
        wait(page, "tb.all('.tb-chart-tooltip:popover-open').length === 1")
        page.mouse.down()
        page.mouse.up()
        wait(page, f"location.hash.endsWith({f'&step={step}' if step else '#histograms'!r})")
    page.get_by_role("tab", name="Page", exact=True).click()
    wait(page, "shown() === 'at null'")
    page.wait_for_selector(".plugin iframe").content_frame().evaluate("() => host.step.set(300.7)")
    wait(page, "shown() === 'at 300'")
    expect(300, "Page")


def test_only_the_axis_of_steps_has_the_step(server: Any, profile: Any) -> None:
    """On another one it is neither shown nor changed, and a pin is of this tab alone."""
    page = profile.open(server.url, "#scalars&step=480&scalars.x=wall_time")
    wait(page, "tb.all('.tb-chart')[0]?.ariaLabel.includes('often')")
    page.locator(".tb-chart").first.focus()
    for key in ("Home", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait(page, "/#scalars&step=480.*scalars.at=17/.test(location.hash) && pin() !== 'none'")
    page.get_by_text("Step", exact=True).first.click()
    wait(page, "location.hash === '#scalars&step=480' && pin() === '480'")
    page.get_by_text("Relative", exact=True).first.click()
    wait(page, "location.hash.startsWith('#scalars&step=480&') && pin() === 'none'")
    for tab, title, axis in (
        ("distributions", "Distributions", "x"),
        ("histograms", "Histograms", "y"),
    ):
        page = profile.open(server.url, f"#{tab}&step=480&{tab}.{axis}=relative")
        wait(page, "tb.all('.tb-card canvas').length > 1 && tb.all('.tb-chart')[0].ariaLabel")
        page.evaluate("() => tb.frame()")
        assert page.evaluate("() => pin() === 'none' && !/outlined/.test(ridges('often'))"), title
        page.locator(".tb-chart").first.focus()
        for key in ("ArrowLeft", "ArrowUp", "Enter"):
            page.keyboard.press(key)
        assert page.evaluate("() => location.hash.includes('&step=480')")


@pytest.mark.parametrize(
    ("before", "is_there", "after"),
    [
        ("#scalars&scalars.at=480", AT_480["Scalars"], "#scalars&step=480"),
        ("#scalars&scalars.at=480&text.step=6", AT_480["Scalars"], "#scalars&step=480&text.step=6"),
        ("#images&images.step=480&scalars.at=100", CELLS, "#images&step=480&scalars.at=100"),
        ("#text&text.step=480", CELLS, "#text&step=480"),
        ("#mesh&mesh.step=480~1", CELLS, "#mesh&step=480&mesh.nth=480~1"),
        ("#matrices&matrices.step=480", CELLS, "#matrices&step=480"),
        ("#pr_curves&pr_curves.step=480", AT_480["PR Curves"], "#pr_curves&step=480"),
        ("#images&step=480&images.step=600", CELLS, "#images&step=480"),
        ("#images&step=abc", AT_LATEST["Images"], ""),
        ("#images&step=5000", "cell('rare').includes('900')", "#images&step=5000"),
    ],
)  # fmt: skip
def test_links_of_before_show_the_same(
    server: Any, profile: Any, before: str, is_there: str, after: str
) -> None:
    """The step is then that of all tabs. What is no number is ignored."""
    page = profile.open(server.url, before)
    wait(page, is_there)
    if after:
        page.wait_for_function("(after) => location.hash === after", arg=after)


def test_a_view_of_before_shows_the_same(
    serve: Any, profile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it is opened in a page that shows another step."""
    for kind in ("DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    write_logs(tmp_path / "logs")
    server = serve(tmp_path / "logs")
    page = profile.open(server.url, "#images&step=200")
    wait(page, "cell('often').includes('200')")
    found = re.search(r"^the address for changing notes is in (.*)$", server.log.read_text(), re.M)
    assert found
    secret = Path(found[1]).read_text().strip().partition("#write=")[2]
    page.evaluate(
        """async (token) => {
          const headers = { 'content-type': 'application/json', 'x-tbcore-write-token': token };
          const body = JSON.stringify({ name: 'old', address: '#images&images.step=480' });
          const { ok } = await fetch('data/views', { method: 'POST', headers, body });
          if (!ok) throw new Error('not saved');
        }""",
        secret,
    )
    page.get_by_role("button", name="Views").click()
    page.locator(".tb-view", has_text="old").click()
    wait(page, CELLS)
    wait(page, "location.hash === '#images&step=480'")
    page = profile.open(server.url, "?view=old")
    wait(page, CELLS)
    wait(page, "location.hash === '#images&step=480'")


def test_each_tab_returns_to_the_latest(server: Any, profile: Any) -> None:
    """By one button, also where nothing shows the step; a slider's last place is the latest."""
    for title, is_there in AT_LATEST.items():
        name = {"Page": "framed"}.get(title, title.lower().replace(" ", "_"))
        page = profile.open(server.url, f"#{name}&step=480&scalars.x=relative")
        page.get_by_role("button", name="Step 480 in all tabs: back to the latest").click()
        wait(page, f"!location.hash.includes('step=') && {is_there}")
        assert page.get_by_role("button", name="in all tabs").count() == 0
    page = profile.open(server.url, "#images&step=480")
    page.get_by_role("slider", name="Step of all").press("End")
    wait(page, f"!location.hash.includes('step=') && {AT_LATEST['Images']}")


def test_what_a_tab_says_of_the_step_is_whole_and_beside_its_run(server: Any, profile: Any) -> None:
    page = profile.open(server.url, "#histograms&step=480")
    wait(page, "ridges('often').includes('outlined: step 400, last up to 480')")
    note = page.locator(".tb-card[aria-label='h in often'] .tb-chart-note")
    assert note.evaluate("(note) => note.scrollWidth <= note.clientWidth")
    page = profile.open(server.url, "#images&step=480")
    wait(page, "tb.all('.tb-earlier').length === 2")
    gaps = """() => tb.all('.tb-earlier').map((step) => step.getBoundingClientRect().left
      - step.previousElementSibling.getBoundingClientRect().right)"""
    assert all(0 <= gap < 20 for gap in page.evaluate(gaps))


def test_the_table_of_a_pin_makes_way_for_the_cards_below(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """It is there again when the pointer returns to its card, and for the keys."""
    tags = [f"{letter}/loss" for letter in "ab"]
    write_run(tmp_path, "run", scalars={tag: [(s, s) for s in range(0, 1001, 20)] for tag in tags})
    page = profile.open(serve(tmp_path).url, viewport={"width": 800, "height": 900})
    click_at(page, 480, ".tb-card[aria-label='a/loss']")
    table = page.locator(".tb-below")
    table.wait_for()
    page.locator(".tb-card[aria-label='b/loss'] .tb-chart-plot").hover(position={"x": 9, "y": 200})
    table.wait_for(state="hidden")
    page.locator(".tb-card[aria-label='a/loss'] h3").hover()
    table.wait_for()
    page.get_by_label("Filter tags").hover()
    table.wait_for(state="hidden")
    page.locator(".tb-card[aria-label='a/loss'] .tb-chart").focus()
    page.keyboard.press("ArrowRight")
    table.wait_for()
