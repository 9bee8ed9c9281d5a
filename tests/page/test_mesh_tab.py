"""The mesh tab in a real browser with WebGL, on real event files and a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tbcore_testing import EventFileWriter, summaries
from tbcore_testing.conformance.odd_names import MARKUP

HELPERS = """
const known = HTMLCanvasElement.prototype.getContext;
globalThis.contexts = [];
HTMLCanvasElement.prototype.getContext = function (kind, ...options) {
  const isRefused = globalThis.hasNoWebGL && kind !== '2d';
  const context = isRefused ? null : known.call(this, kind, ...options);
  if (kind !== '2d' && context && !contexts.includes(context)) contexts.push(context);
  return context;
};
globalThis.meshes = {
  cell: (tag, run) => tb.card(tag)?.querySelector(`.tb-step-cell[aria-label="${run}"]`),
  canvas: (tag, run, sample = 0) => meshes.cell(tag, run)?.querySelectorAll('canvas')[sample],
  text: (tag, run) => meshes.cell(tag, run)?.textContent ?? '',
  // The pixels of a picture that are drawn, as [x, y, red, green, blue].
  pixels(tag, run, sample) {
    const canvas = meshes.canvas(tag, run, sample);
    if (!canvas?.width) return [];
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    return Array.from({ length: width * height }, (_, i) => i)
      .filter((i) => data[4 * i + 3] === 255)
      .map((i) => [i % width, Math.floor(i / width), ...data.subarray(4 * i, 4 * i + 3)]);
  },
  // The middle of what is drawn.
  middle(tag, run) {
    const pixels = meshes.pixels(tag, run);
    return [0, 1].map((i) => pixels.reduce((sum, pixel) => sum + pixel[i], 0) / pixels.length);
  },
  picture: (tag, run) => meshes.canvas(tag, run)?.toDataURL(),
  isDrawn: (tag, run, sample) => meshes.pixels(tag, run, sample).length > 100,
};
"""
RUNS = ("eval", "train")
TAGS = ("shape/red", "shape/plain")
NUM_MANY = 40
STEPS = (0, 10, 20)


def ball(size: int = 24) -> tuple[NDArray[Any], NDArray[Any]]:
    """Vertices and faces of a ball with the radius 1, of `size` vertices around."""
    u, v = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    a, b = u * 2 * np.pi / size, v * np.pi / (size - 1)
    vertices = np.stack([np.sin(b) * np.cos(a), np.cos(b), np.sin(b) * np.sin(a)], -1)
    here, right = u[:, :-1] * size + v[:, :-1], (u[:, :-1] + 1) % size * size + v[:, :-1]
    faces = [
        np.stack(f, -1).reshape(-1, 3)
        for f in ((here, right, right + 1), (here, right + 1, here + 1))
    ]
    return vertices.reshape(-1, 3), np.concatenate(faces)


def egg(size: int = 24) -> tuple[NDArray[Any], NDArray[Any]]:
    """A body that looks different from all sides."""
    vertices, faces = ball(size)
    return vertices * [1, 0.5, 0.3] + [[0.5, 0.2, 0]] * (vertices[:, :1] > 0.5), faces


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("logdir")
    vertices, faces = egg()
    red = [[255, 0, 0]] * len(vertices)
    for run in RUNS:
        with EventFileWriter(logdir / run / "a.tfevents") as writer:
            for step in STEPS:
                moved = np.add(vertices, [step / 10, 0, 0])
                writer.add_summary(step, *summaries.mesh("shape/red", [moved], [faces], [red]))
                writer.add_summary(step, *summaries.mesh("shape/plain", [moved], [faces]))
    with EventFileWriter(logdir / "cloud" / "a.tfevents") as writer:
        points = np.random.default_rng(0).normal(size=(500, 3))
        green, blue = ([[0, 1, 0]] * 500, [[0, 0, 1]] * 500)
        writer.add_summary(1, *summaries.mesh("points", [points, points], None, [green, blue]))
    with EventFileWriter(logdir / "bad" / "a.tfevents") as writer:
        broken = np.where(vertices[:, :1] > 0.9, np.nan, vertices)
        for name, values in {
            "nan": summaries.mesh("nan", [broken], [faces], [red[1:]]),
            "empty": summaries.mesh("empty", np.zeros((1, 0, 3))),
            "lone": summaries.mesh("lone", [vertices], [faces])[1:],
            "flat": summaries.mesh("flat", np.zeros((1, 5, 2))),
            "good": summaries.mesh("good", [vertices], [faces]),
        }.items():
            assert name == values[0].tag.partition("_")[0]
            writer.add_summary(1, *values)
    with EventFileWriter(logdir / "evil" / "a.tfevents") as writer:
        config = f'{{"material": {{"color": "{MARKUP[:5]}", "wireframe": true}}}}'
        writer.add_summary(1, *summaries.mesh(MARKUP, [vertices], [faces], config=config))
    with EventFileWriter(logdir / "many" / "a.tfevents") as writer:
        for i in range(NUM_MANY):
            writer.add_summary(1, *summaries.mesh(f"many/{i:02}", [vertices], [faces]))
    with EventFileWriter(logdir / "large" / "a.tfevents") as writer:
        writer.add_summary(1, *summaries.mesh("large", *([part] for part in egg(200))))
    return serve_for_module(logdir)


def wait_until_drawn(page: Any, tag: str, run: str, sample: int = 0) -> None:
    page.wait_for_function("(at) => meshes.isDrawn(...at)", arg=[tag, run, sample])


def picture(page: Any, tag: str, run: str) -> str:
    """The picture of a mesh, as text."""
    found = page.evaluate("(at) => meshes.picture(...at)", [tag, run])
    assert isinstance(found, str)
    return found


def wait_for_change(page: Any, tag: str, run: str, before: str) -> None:
    page.wait_for_function(
        "([tag, run, before]) => meshes.picture(tag, run) !== before", arg=[tag, run, before]
    )


def canvas(page: Any, tag: str, run: str) -> Any:
    return page.locator(f'canvas[aria-label^="{tag}, {run},"]')


def drag(page: Any, tag: str, run: str, x: int, y: int, **options: Any) -> None:
    """Drags a mesh by these pixels."""
    box = canvas(page, tag, run).bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*place)
    page.mouse.down(**options)
    page.mouse.move(place[0] + x, place[1] + y, steps=4)
    page.mouse.up(**options)


def wait_for_view(page: Any, view: str | None) -> None:
    """Waits until the address has this camera; None for the one at the start."""
    page.wait_for_function(
        """(view) => (new URLSearchParams(location.hash.slice(1)).get('mesh.view')) === view""",
        arg=view,
    )


# What is drawn ------------------------------------------------------------------------------------


def test_faces_are_lit_in_their_colours(open_page: Any) -> None:
    """Without colours, they have that of their run. The ground is that of the theme."""
    page = open_page("#mesh&query=train|eval")
    for run in RUNS:
        for tag in TAGS:
            wait_until_drawn(page, tag, run)
        pixels = page.evaluate("(run) => meshes.pixels('shape/red', run)", run)
        reds = {red for _, _, red, green, blue in pixels if green == blue == 0}
        assert len(pixels) > 2000
        assert max(reds) > 200
        assert min(reds) < 130
        assert len(reds) > 20
        pixels = page.evaluate("(run) => meshes.pixels('shape/plain', run)", run)
        color = page.evaluate("(run) => tb.colors()[run]", run)
        expected = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])
        brightest = np.array(max(pixels, key=sum)[2:])
        assert np.abs(brightest / brightest.max() - expected / expected.max()).max() < 0.05


def test_point_clouds_have_a_picture_for_each_of_a_batch(open_page: Any) -> None:
    page = open_page("#mesh&query=cloud")
    for sample, channel in ((0, 1), (1, 2)):
        wait_until_drawn(page, "points", "cloud", sample)
        pixels = page.evaluate("(at) => meshes.pixels(...at)", ["points", "cloud", sample])
        assert {tuple(pixel[2:]) for pixel in pixels} == {
            tuple(255 if i == channel else 0 for i in range(3))
        }
    page.get_by_text("500 vertices · 2 of 2").wait_for()


@pytest.mark.parametrize("style", ["Edges", "Points"])
def test_faces_can_be_drawn_as_edges_and_points(open_page: Any, style: str) -> None:
    page = open_page("#mesh&query=train&tagQuery=red")
    wait_until_drawn(page, "shape/red", "train")
    before = picture(page, "shape/red", "train")
    num_lit = len(page.evaluate("() => meshes.pixels('shape/red', 'train')"))
    page.get_by_text(style, exact=True).click()
    wait_for_change(page, "shape/red", "train", before)
    pixels = page.evaluate("() => meshes.pixels('shape/red', 'train')")
    assert 100 < len(pixels) < 0.9 * num_lit
    page.wait_for_function(f"() => location.hash.includes('mesh.drawn={style.lower()}')")


def test_all_steps_have_the_same_frame(open_page: Any) -> None:
    """The shape moves to the right, while its size and the camera stay."""
    page = open_page("#mesh&query=train&tagQuery=red&step=0&mesh.view=0,0")
    wait_until_drawn(page, "shape/red", "train")
    middles = [page.evaluate("() => meshes.middle('shape/red', 'train')")]
    for _ in STEPS[1:]:
        before = picture(page, "shape/red", "train")
        page.keyboard.press("]")
        wait_for_change(page, "shape/red", "train", before)
        middles.append(page.evaluate("() => meshes.middle('shape/red', 'train')"))
    assert middles[0][0] + 30 < middles[1][0] < middles[2][0] - 30
    assert abs(middles[2][1] - middles[0][1]) < 3


def test_what_is_left_out_has_a_line_and_others_are_drawn(open_page: Any, profile: Any) -> None:
    profile.expects_errors = True  # Chromium logs the responses for meshes that cannot be read.
    page = open_page("#mesh&query=bad")
    wait_until_drawn(page, "good", "bad")
    wait_until_drawn(page, "nan", "bad")
    for tag, lines in {
        "nan": ["Without colours: there are 575 for 576 vertices.", "they are not finite."],
        "empty": ["The mesh has no vertices at this step."],
        "lone": ["faces or colours were logged for it, but no vertices"],
        "flat": ["vertices must have the shape (batch, n, 3), got float32 of (1, 5, 2)"],
        "good": ["576 vertices, 1,104 faces"],
    }.items():
        text = page.evaluate("(tag) => meshes.text(tag, 'bad')", tag)
        assert all(line in text for line in lines), (tag, text)


def test_names_and_settings_in_logs_are_text(open_page: Any) -> None:
    page = open_page("#mesh&query=evil")
    wait_until_drawn(page, MARKUP, "evil")
    assert page.evaluate("(tag) => tb.card(tag).querySelector('h3').title", MARKUP) == MARKUP
    assert page.evaluate("() => tb.all('#tbcore-markup').length + tb.all('img').length") == 0
    assert page.evaluate("() => document.body.id") == ""


# The camera ---------------------------------------------------------------------------------------


def test_a_drag_turns_all_meshes_and_a_link_has_the_view(open_page: Any) -> None:
    """Of all cards, runs and steps."""
    page = open_page("#mesh&query=train|eval")
    pairs = [(tag, run) for tag in TAGS for run in RUNS]
    for tag, run in pairs:
        wait_until_drawn(page, tag, run)
    before = {pair: picture(page, *pair) for pair in pairs}
    drag(page, "shape/plain", "eval", 80, 20)
    wait_for_view(page, "70,30")
    for pair in pairs:
        wait_for_change(page, *pair, before[pair])
    before = {pair: picture(page, *pair) for pair in pairs}
    drag(page, "shape/red", "train", 30, -20, button="right")
    page.wait_for_function("() => location.hash.includes('mesh.view=70,30,1,0.')")
    once = page.evaluate("() => location.hash")
    page.keyboard.down("Shift")
    drag(page, "shape/red", "eval", 4, 4)
    page.keyboard.up("Shift")
    page.wait_for_function("(once) => location.hash !== once", arg=once)
    for pair in pairs:
        wait_for_change(page, *pair, before[pair])
    link = page.evaluate("() => location.hash")

    other = open_page(link)
    is_near = """([tag, run, x, y]) => {
      const [x2, y2] = meshes.middle(tag, run);
      return Math.hypot(x - x2, y - y2) < 1.5; // The view in the address is rounded.
    }"""
    for tag, run in pairs:
        wait_until_drawn(other, tag, run)
        place = other.evaluate("(at) => meshes.middle(...at)", [tag, run])
        page.wait_for_function(is_near, arg=[tag, run, *place])
    everything = page.get_by_role("slider", name="Step of all meshes")
    everything.press("Home")
    page.wait_for_function("() => location.hash.includes('step=0')")
    assert "mesh.view=70,30,1,0." in page.evaluate("() => location.hash")


def test_another_setting_does_not_end_a_drag(open_page: Any) -> None:
    """The steps may be playing while a mesh is turned, whose view is in the address only later."""
    page = open_page("#mesh&query=train&step=0")
    wait_until_drawn(page, "shape/red", "train")
    box = canvas(page, "shape/red", "train").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 100, y, steps=4)
    page.keyboard.press("]")
    page.wait_for_function("() => location.hash.includes('step=10')")
    page.mouse.up()
    wait_for_view(page, "80,20")


def test_each_mesh_can_have_a_camera_of_its_own(open_page: Any) -> None:
    page = open_page("#mesh&query=train|eval")
    pairs = [(tag, run) for tag in TAGS for run in RUNS]
    for tag, run in pairs:
        wait_until_drawn(page, tag, run)
    page.get_by_label("Shared camera").uncheck()
    before = {pair: picture(page, *pair) for pair in pairs}
    drag(page, *pairs[0], 80, 20)
    wait_for_change(page, *pairs[0], before[pairs[0]])
    assert all(picture(page, *pair) == before[pair] for pair in pairs[1:])
    wait_for_view(page, None)
    page.get_by_role("button", name="Reset all views").click()
    page.wait_for_function(
        "([tag, run, before]) => meshes.picture(tag, run) === before",
        arg=[*pairs[0], before[pairs[0]]],
    )


def test_keys_turn_and_zoom_the_focused_mesh(open_page: Any) -> None:
    """They do not select another step, as they do elsewhere in the card. The help lists them."""
    page = open_page("#mesh&query=train&tagQuery=red")
    wait_until_drawn(page, "shape/red", "train")
    target = canvas(page, "shape/red", "train")
    target.focus()
    for key, view in {
        "ArrowRight": "35,20",
        "ArrowUp": "35,15",
        "+": "35,15,1.2",
        "Shift+ArrowLeft": "35,15,1.2,-0.1",
        "-": "35,15,1,-0.0833",
        "0": None,
    }.items():
        target.press(key)
        wait_for_view(page, view)
    assert "mesh.at" not in page.evaluate("() => location.hash")
    page.keyboard.press("?")
    page.get_by_text("Turn the focused mesh; with Shift, move it").wait_for()


def test_the_wheel_scrolls_the_page_until_the_mesh_has_the_focus(open_page: Any) -> None:
    page = open_page("#mesh&query=many")
    wait_until_drawn(page, "many/00", "many")
    target = canvas(page, "many/00", "many")
    target.hover()
    page.mouse.wheel(0, 40)
    page.wait_for_function(
        "() => [...document.querySelectorAll('*')].some((element) => element.scrollTop > 0)"
    )
    wait_for_view(page, None)
    target.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function("() => location.hash.includes('mesh.view=30,20,1.2')")
    target.click()
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => location.hash.includes('mesh.view=30,20,1.4')")
    target.dblclick()
    wait_for_view(page, None)


def test_a_slow_mesh_is_complete_when_it_rests(open_page: Any) -> None:
    """While it is turned, it may be drawn by some of its vertices."""
    page = open_page("#mesh&query=large")
    wait_until_drawn(page, "large", "large")
    drag(page, "large", "large", 60, 40)
    wait_for_view(page, "60,40")
    other = open_page("#mesh&query=large&mesh.view=60,40")
    wait_until_drawn(other, "large", "large")
    expected = picture(other, "large", "large")
    page.wait_for_function(
        "(expected) => meshes.picture('large', 'large') === expected", arg=expected
    )


# The context of WebGL -----------------------------------------------------------------------------


def test_any_number_of_meshes_has_one_context(open_page: Any) -> None:
    """Browsers end the oldest context when there are more than 16."""
    page = open_page("#mesh&query=many")
    for i in range(0, NUM_MANY, 3):
        page.wait_for_function("(tag) => tb.card(tag)", arg=f"many/{i:02}")
        page.evaluate("(tag) => tb.card(tag).scrollIntoView()", f"many/{i:02}")
        wait_until_drawn(page, f"many/{i:02}", "many")
    assert page.evaluate("() => contexts.length") == 1
    page.evaluate("() => { location.hash = 'scalars'; }")
    page.wait_for_function("() => contexts[0].isContextLost()")


def test_a_lost_context_comes_back(open_page: Any) -> None:
    """Until then, the pictures stay."""
    page = open_page("#mesh&query=train&tagQuery=red")
    wait_until_drawn(page, "shape/red", "train")
    before = picture(page, "shape/red", "train")
    page.evaluate(
        "() => (globalThis.loss = contexts[0].getExtension('WEBGL_lose_context')).loseContext()"
    )
    page.wait_for_function("() => contexts[0].isContextLost()")
    canvas(page, "shape/red", "train").press("ArrowRight")
    wait_for_view(page, "35,20")
    assert picture(page, "shape/red", "train") == before
    page.evaluate("() => loss.restoreContext()")
    wait_for_change(page, "shape/red", "train", before)
    wait_until_drawn(page, "shape/red", "train")


def test_without_webgl_a_sentence_says_so(server: Any, profile: Any) -> None:
    page = profile.context.new_page()
    page.add_init_script("globalThis.hasNoWebGL = true")
    profile.allow(server.url)
    page.goto(f"{server.url}/#mesh&query=train")
    text = "This browser cannot draw meshes: it has no WebGL 2, or it is switched off."
    page.get_by_text(text).first.wait_for()


def test_a_mesh_is_downloaded_as_ply(open_page: Any, tmp_path: Path) -> None:
    page = open_page("#mesh&query=train&tagQuery=red")
    wait_until_drawn(page, "shape/red", "train")
    with page.expect_download() as download:
        page.get_by_label("Download mesh of train").click()
    assert download.value.suggested_filename == "train_shape_red_step20.ply"
    download.value.save_as(tmp_path / "a.ply")
    assert (tmp_path / "a.ply").read_bytes().startswith(b"ply\nformat binary_little_endian 1.0\n")
