"""The graphs tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, write_run

graph_pb2 = pytest.importorskip("tbcore_graphs.proto.graph_pb2")

LONG_TASK_MS = 200
"""Longest time that a task may block the page."""

HELPERS = """
globalThis.graphs = {
  root: () => document.querySelector('.plugin')?.shadowRoot,
  isDrawn: () => graphs.root()?.querySelector('.frame')?.getAttribute('aria-busy') === 'false',
  // The last image of the canvas, and since when it has been unchanged.
  snapshot: { image: '', since: 0 },
  isStill: () => {
    const image = graphs.root().querySelector('canvas').toDataURL();
    const now = performance.now();
    if (image !== graphs.snapshot.image) graphs.snapshot = { image, since: now };
    return now - graphs.snapshot.since > 100;
  },
  // Resolves when the effects of the last render have run, such as the start of an animation.
  effects: () => tb.frame().then(() => new Promise((done) => setTimeout(done))),
  // Number of jobs sent to the layout worker.
  numJobs: 0,
  rows: () => [...(graphs.root()?.querySelectorAll('[role=treeitem]') ?? [])],
  names: () => graphs.rows().map((row) => row.title),
  namesAt: (level) => {
    return graphs.rows().filter((row) => row.ariaLevel === String(level)).map((row) => row.title);
  },
  row: (name) => graphs.rows().find((row) => row.title === name),
  text: (selector) => graphs.root()?.querySelector(selector)?.innerText ?? '',
  // Moves the pointer over the drawing until the tooltip names a box.
  find: (name) => {
    const canvas = graphs.root().querySelector('canvas');
    const { left, top, right, bottom } = canvas.getBoundingClientRect();
    for (let y = top + 5; y < bottom; y += 6) {
      for (let x = right - 5; x > left; x -= 12) {
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y }));
        const isOpen = graphs.root().querySelector('.tb-chart-tooltip:popover-open');
        if (isOpen && graphs.text('.tb-chart-heading') === name) return { x, y };
      }
    }
    return null;
  },
  // Number of pixels of the drawing that are not background.
  inked: () => {
    const canvas = graphs.root()?.querySelector('canvas');
    if (!canvas?.width) return 0;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 40) count++;
    return count;
  },
};
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (...message) {
  graphs.numJobs++;
  post.apply(this, message);
};
"""


def small_graph() -> Any:
    """A model with two equal layers, nested scopes, and nodes that save and initialize it."""
    graph = graph_pb2.GraphDef()

    def add(name: str, op: str, *inputs: str, shape: tuple[int, ...] = (-1, 64)) -> None:
        node = graph.node.add(name=name, op=op, input=inputs, device="/device:CPU:0")
        dims = node.attr["_output_shapes"].list.shape.add().dim
        for size in shape:
            dims.add(size=size)

    add("input", "Placeholder")
    before = "input"
    for layer in ("layer_1", "layer_2"):
        add(f"{layer}/weights/kernel", "VariableV2", shape=(64, 64))
        add(f"{layer}/weights/read", "Identity", f"{layer}/weights/kernel", shape=(64, 64))
        add(f"{layer}/MatMul", "MatMul", before, f"{layer}/weights/read")
        add(f"{layer}/Relu", "Relu", f"{layer}/MatMul")
        before = f"{layer}/Relu"
    add("loss/<i>mean", "Mean", before, shape=())
    for name in ("a", "b"):
        add(f"head_{name}", "Identity", before)
    add("save/restore", "RestoreV2")
    add("init", "NoOp", "^layer_1/weights/kernel")
    return graph


def one_node(name: str) -> bytes:
    graph = graph_pb2.GraphDef()
    graph.node.add(name=name, op="NoOp")
    data: bytes = graph.SerializeToString()
    return data


def large_graph(num_nodes: int = 100_000) -> Any:
    """Blocks of layers of ops, each of which has the op before as its input."""
    graph = graph_pb2.GraphDef()
    before = ""
    for index in range(num_nodes):
        block, layer, place = index // 5000, index // 100 % 50, index % 100
        name = f"block_{block:02}/layer_{layer:02}/op_{place:02}"
        node = graph.node.add(name=name, op=("MatMul", "Add", "Relu", "Mul")[place % 4])
        if before:
            node.input.append(before)
        if place % 10 == 9:
            node.input.append(f"block_{block:02}/layer_{layer:02}/op_{place - 7:02}")
        before = name
    return graph


def tangled_graph() -> Any:
    """One scope whose layout takes many seconds, and one whose layout does not."""
    graph = graph_pb2.GraphDef()
    for index in range(600):
        before = {factor * (index + 1) % 600 for factor in (7, 113, 307, 401)}
        inputs = [f"slow/n{other}" for other in sorted(before) if other < index]
        graph.node.add(name=f"slow/n{index}", op="Op", input=inputs)
    graph.node.add(name="quick/x", op="Op")
    return graph


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    write_run(logdir, "small", graph=small_graph().SerializeToString())
    write_run(logdir, "large", graph=large_graph().SerializeToString())
    flat = graph_pb2.GraphDef()
    for index in range(3000):
        flat.node.add(name="".join(chr(97 + index // 26**k % 26) for k in range(4)), op="NoOp")
    write_run(logdir, "flat", graph=flat.SerializeToString())
    numbered = graph_pb2.GraphDef()
    for index in range(650):
        kind = "even" if index % 2 == 0 else "odd"
        inputs = [f"{kind}_{index // 2 - 1}"] if index > 1 else []
        numbered.node.add(name=f"{kind}_{index // 2}", op="Add", input=inputs)
    write_run(logdir, "numbered", graph=numbered.SerializeToString())
    write_run(logdir, "tangled", graph=tangled_graph().SerializeToString())
    write_run(logdir, "grows", graph=one_node("first"))
    calls = graph_pb2.GraphDef()
    call = calls.node.add(name="call", op="PartitionedCall")
    call.attr["f"].func.name = "double"
    function = calls.library.function.add()
    function.signature.name = "double"
    function.node_def.add(name="Mul", op="Mul")
    write_run(logdir, "calls", graph=calls.SerializeToString())
    model = graph_pb2.GraphDef()
    for name in ("model/net/dense_1/MatMul", "model/net/dense_2/MatMul"):
        model.node.add(name=name, op="MatMul")
    for run in ("keras_models_of_october/1/train", "keras_models_of_october/2/train"):
        write_run(logdir, run, graph=model.SerializeToString())
    write_run(logdir, "scalars", scalars={"loss": [1.0]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


@pytest.fixture
def open_graph(open_page: Any) -> Any:
    """Opens the graph of a run, and waits until it is drawn."""

    def open(run: str, settings: str = "", **options: Any) -> Any:
        page = open_page(f"#graphs&graphs.run={run}{settings}", **options)
        wait_for_drawing(page)
        return page

    return open


def wait_for_drawing(page: Any) -> None:
    """Waits until something is drawn."""
    page.wait_for_function("() => graphs.isDrawn() && graphs.inked() > 300")


def wait_for_boxes(page: Any) -> None:
    """Waits until all boxes are drawn and the animation has ended."""
    page.wait_for_function("() => graphs.isDrawn()")
    page.evaluate("() => { graphs.snapshot.image = ''; return graphs.effects(); }")
    page.wait_for_function("() => graphs.isStill()")


def open_outline(page: Any) -> None:
    page.get_by_text("Outline", exact=True).click()
    page.wait_for_function("() => graphs.rows().length > 0")


def select_row(page: Any, name: str) -> None:
    """Selects a row of the outline."""
    page.evaluate("(name) => graphs.row(name).click()", name)
    page.wait_for_function("(name) => graphs.row(name).ariaSelected === 'true'", arg=name)


def wait_for_setting(page: Any, name: str, value: str | None) -> None:
    """Waits until a setting in the address has a value; None if it is absent."""
    page.wait_for_function(
        """([name, value]) => (new URLSearchParams(location.hash.slice(1)).get(name) === value)""",
        arg=[f"graphs.{name}", value],
    )


def test_scopes_are_collapsed_at_first_and_opened_from_the_outline(open_graph: Any) -> None:
    """By keyboard: Enter opens a scope, the arrow keys move, open and close."""
    page = open_graph("small")
    open_outline(page)
    assert page.evaluate("() => graphs.names()") == [
        "input", "layer_1", "layer_2", "loss", "head_a", "head_b", "save", "init",
    ]  # fmt: skip
    select_row(page, "layer_1")
    page.evaluate("() => graphs.row('layer_1').focus()")
    page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.names().includes('layer_1/MatMul')")
    wait_for_setting(page, "open", "layer_1")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => graphs.row('layer_1/weights').ariaSelected === 'true'")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => graphs.names().includes('layer_1/weights/kernel')")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => !graphs.names().includes('layer_1/MatMul')")
    wait_for_setting(page, "open", None)


def test_a_scope_that_is_all_there_is_opens_by_itself(open_graph: Any) -> None:
    """And one that is all there is in it. The reader may close it."""
    page = open_graph("keras_models_of_october/1/train")
    wait_for_setting(page, "open", "model,model/net")
    open_outline(page)
    page.wait_for_function("() => graphs.names().includes('model/net/dense_2')")
    page.get_by_role("button", name="Close all scopes").click()
    wait_for_setting(page, "open", None)
    page.evaluate("() => graphs.effects()")
    wait_for_boxes(page)
    wait_for_setting(page, "open", None)


@pytest.mark.parametrize("width", [400, 1400])
def test_the_closed_list_of_runs_shows_the_end_of_a_name(open_graph: Any, width: int) -> None:
    page = open_graph("keras_models_of_october/2/train", viewport={"width": width, "height": 800})
    page.get_by_label("Run", exact=True).wait_for()
    cut = """() => {
      const tail = graphs.root().querySelector('.picker .tb-name-tail');
      const picker = graphs.root().querySelector('.picker').getBoundingClientRect();
      return [tail.textContent, tail.scrollWidth <= tail.clientWidth
        && tail.getBoundingClientRect().right <= picker.right];
    }"""
    tail, is_whole = page.evaluate(cut)
    assert tail.endswith("2/train")
    assert is_whole


def position_of_box(page: Any, name: str) -> tuple[float, float]:
    """A position of the pointer at which the tooltip names this box."""
    page.mouse.move(0, 0)
    wait_for_boxes(page)
    place = page.evaluate("(name) => graphs.find(name)", name)
    assert place is not None, f"no position has a tooltip for box {name!r}"
    return place["x"], place["y"]


def test_a_double_click_opens_a_scope_and_a_click_shows_details(open_graph: Any) -> None:
    """The clicked scope stays in view, while the camera moves."""
    page = open_graph("small")
    page.emulate_media(reduced_motion="no-preference")
    x, y = position_of_box(page, "layer_2")
    page.mouse.dblclick(x, y)
    wait_for_setting(page, "open", "layer_2")
    page.mouse.click(*position_of_box(page, "layer_2/MatMul"))
    page.wait_for_function("() => graphs.text('.details h2') === 'MatMul'")
    page.wait_for_function("() => graphs.text('.details').includes('layer_2/weights/read')")
    details = page.evaluate("() => graphs.text('.details')")
    for text in ("/device:CPU:0", "layer_1/Relu", "layer_2/weights/read", "64×64", "?×64"):
        assert text in details
    wait_for_setting(page, "node", "layer_2/MatMul")


def test_a_link_restores_open_scopes_and_the_selection(open_graph: Any) -> None:
    """Scopes around the selected node are opened even if the link does not name them."""
    page = open_graph("small", "&graphs.node=layer_2/weights/kernel")
    page.wait_for_function("() => graphs.text('.details h2') === 'kernel'")
    wait_for_setting(page, "open", "layer_2,layer_2/weights")
    open_outline(page)
    assert page.evaluate("() => graphs.row('layer_2/weights/kernel').ariaSelected") == "true"


def test_a_link_to_a_node_of_a_long_drawing_shows_that_node(open_graph: Any) -> None:
    """As a whole, a drawing with hundreds of ranks would be unreadable."""
    page = open_graph("numbered", "&graphs.open=even_*&graphs.node=even_160")
    middle = page.get_by_role("img", name="Drawing of the graph").bounding_box()
    page.mouse.move(middle["x"] + middle["width"] / 2, middle["y"] + middle["height"] / 2)
    page.wait_for_function("() => graphs.text('.tb-chart-heading') === 'even_160'")


def test_the_shown_run_stays_until_another_is_selected(open_graph: Any, logdir: Path) -> None:
    """Even if other runs are logged; after a selection the address names the run."""
    page = open_graph("")
    shown = page.get_by_label("Run", exact=True)
    assert shown.input_value() == "calls"
    write_run(logdir, "a_first", graph=one_node("other"))
    page.wait_for_function(
        "() => [...graphs.root().querySelectorAll('option')].some((one) => one.value === 'a_first')"
    )
    page.wait_for_function("() => graphs.isDrawn()")
    assert shown.input_value() == "calls"
    open_outline(page)
    select_row(page, "call")
    wait_for_setting(page, "run", "calls")


def test_search_finds_names_and_ops_and_shows_where_they_are(open_graph: Any) -> None:
    """Names that look like markup are shown as text."""
    page = open_graph("small")
    page.keyboard.press("/")
    page.keyboard.type("MEAN")
    page.wait_for_function("() => graphs.text('.pane header').includes('1 match')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('graphs.open=loss')")
    # Details of the selected node are below the results.
    page.wait_for_function("() => graphs.text('.results + .details').includes('layer_2/Relu')")
    assert page.get_by_text("1 match", exact=True).is_visible()
    page.keyboard.press("/")
    page.keyboard.type("op:matm")
    page.wait_for_function("() => graphs.text('.pane header').includes('2 matches')")
    page.keyboard.press("ArrowDown")  # into the list, from which the focus returns to the box
    page.keyboard.press("Escape")
    page.wait_for_function("() => graphs.text('.details h2') === '<i>mean'")
    # Selecting a visible node does not move the drawing.
    place = position_of_box(page, "head_a")
    page.keyboard.type("head_a")
    page.wait_for_function("() => graphs.text('.pane header').includes('1 match')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.text('.details h2') === 'head_a'")
    assert position_of_box(page, "head_a") == place


def test_a_late_response_does_not_change_a_newer_selection(open_graph: Any) -> None:
    """Scopes that were opened in the meantime stay open."""
    page = open_graph("small", "&graphs.node=layer_2")
    held: list[Any] = []
    pattern = "**/graphs/scope?*path=layer_1&*"
    # A lambda, since Playwright sets an attribute on handlers, which held.append does not allow.
    page.route(pattern, lambda route: held.append(route))
    with page.expect_request(pattern):
        page.get_by_role("button", name="layer_1/Relu").first.click()
    open_outline(page)
    select_row(page, "loss")
    page.evaluate("() => graphs.row('loss').focus()")
    page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.names().includes('loss/<i>mean')")
    with page.expect_response(pattern):
        held.pop().continue_()
    page.evaluate("() => graphs.effects()")
    wait_for_setting(page, "node", "loss")
    wait_for_setting(page, "open", "loss")
    # A second attempt opens it in addition.
    page.get_by_text("Details", exact=True).click()
    page.get_by_role("button", name="layer_2/Relu").first.click()
    wait_for_setting(page, "node", "layer_2/Relu")
    wait_for_setting(page, "open", "loss,layer_2")


def test_auxiliary_nodes_can_be_added_to_the_main_graph(open_graph: Any) -> None:
    """Labels for screen readers call them auxiliary."""
    page = open_graph("small")
    open_outline(page)
    auxiliary = "() => graphs.rows().filter((row) => row.ariaLabel.includes('auxiliary'))"
    assert page.evaluate(f"() => ({auxiliary})().map((row) => row.title)") == ["save", "init"]
    select_row(page, "init")
    page.get_by_text("Details", exact=True).click()
    page.get_by_role("button", name="Add to main graph").click()
    page.wait_for_function("() => graphs.isDrawn()")
    open_outline(page)
    page.wait_for_function(f"() => ({auxiliary})().length === 1")
    wait_for_setting(page, "in", "init")


def test_the_drawing_is_saved_as_svg_and_png(open_graph: Any, tmp_path: Path) -> None:
    """The files have the whole drawing, not only the visible part."""
    page = open_graph("small", "&graphs.open=layer_1")
    for kind, start in (("SVG", b"<svg "), ("PNG", b"\x89PNG")):
        page.get_by_role("button", name="Download the drawing").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=kind).click()
        path = tmp_path / kind
        download.value.save_as(path)
        assert path.read_bytes().startswith(start)
        page.keyboard.press("Escape")
    svg = (tmp_path / "SVG").read_text(encoding="utf-8")
    for text in (">layer_1<", ">MatMul<", ">layer_2<", "64×64"):
        assert text in svg


def test_inputs_are_traced_all_the_way_back(open_graph: Any) -> None:
    """For scopes and nodes; everything else is faint, and the address keeps it."""
    page = open_graph("small", "&graphs.open=layer_2&graphs.node=layer_2")
    for text in ("layer_1/Relu", "loss/<i>mean", "?×64"):
        page.wait_for_function("(text) => graphs.text('.details').includes(text)", arg=text)
    before = page.evaluate("() => graphs.inked()")
    page.get_by_role("button", name="Trace inputs").click()
    # All nodes of both layers, and the input.
    page.wait_for_function("() => graphs.text('.details').includes('Traced back to 9 nodes')")
    wait_for_setting(page, "trace", "true")
    page.wait_for_function("(before) => graphs.inked() < before", arg=before)
    page.keyboard.press("t")
    wait_for_setting(page, "trace", None)
    page.keyboard.press("t")
    page.get_by_role("button", name="layer_1/Relu").first.click()
    page.wait_for_function("() => graphs.text('.details').includes('Traced back to 5 nodes')")


def test_the_minimap_shows_the_visible_part(open_graph: Any) -> None:
    """It appears when zoomed in; clicking on it pans, and so do arrow keys."""
    page = open_graph("small", "&graphs.open=layer_1,layer_2")
    is_shown = "() => graphs.root().querySelector('.minimap').checkVisibility()"
    assert not page.evaluate(is_shown)
    page.mouse.move(700, 500)
    for _ in range(6):
        page.mouse.wheel(0, -240)
    page.wait_for_function(is_shown)
    viewport_style = "() => graphs.root().querySelector('.minimap i').style.translate"
    before = page.evaluate(viewport_style)
    page.locator(".minimap").click(position={"x": 5, "y": 5})
    page.wait_for_function(f"(before) => ({viewport_style})() !== before", arg=before)
    before = page.evaluate(viewport_style)
    page.get_by_role("img", name="Drawing of the graph").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(f"(before) => ({viewport_style})() !== before", arg=before)
    page.keyboard.press("f")
    page.wait_for_function(f"() => !({is_shown})()")


def test_a_scope_with_too_many_nodes_shows_a_message(open_page: Any) -> None:
    """The search still finds each node."""
    page = open_page("#graphs&graphs.run=flat")
    page.wait_for_function("() => graphs.text('.message').includes('3,000 nodes in one scope')")
    page.keyboard.press("/")
    page.keyboard.type("zaaa")
    page.wait_for_function("() => graphs.text('.pane header').includes('1 match')")


def test_a_newly_logged_graph_replaces_the_old_one(
    open_graph: Any, logdir: Path, profile: Any
) -> None:
    """Other data that is logged in the run causes no requests for scopes."""
    page = open_graph("grows")
    open_outline(page)
    assert page.evaluate("() => graphs.names()") == ["first"]
    requests = len([url for url in profile.requested_urls if "graphs/scope" in url])
    with EventFileWriter(next((logdir / "grows").iterdir())) as writer:
        writer.add_scalar("loss", 0.5, step=1)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource')"
        ".filter((entry) => entry.name.includes('graphs/overview')).length > 1"
    )
    assert len([url for url in profile.requested_urls if "graphs/scope" in url]) == requests
    with EventFileWriter(next((logdir / "grows").iterdir())) as writer:
        writer.add_graph(one_node("second"))
    page.wait_for_function("() => graphs.names().join() === 'second'")


def test_closing_a_scope_cancels_its_layout(open_graph: Any) -> None:
    """A new worker replaces the busy one, so that other scopes do not have to wait."""
    page = open_graph("tangled")
    open_outline(page)
    select_row(page, "slow")
    num_jobs = page.evaluate("() => graphs.numJobs")
    with page.expect_worker(lambda worker: "layout-worker" in worker.url):
        page.evaluate("() => graphs.row('slow').focus()")
        page.keyboard.press("Enter")
        page.wait_for_function("(before) => graphs.numJobs > before", arg=num_jobs)
        assert not page.evaluate("() => graphs.isDrawn()")
        page.keyboard.press("Enter")
        select_row(page, "quick")
        page.evaluate("() => graphs.row('quick').focus()")
        page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.names().includes('quick/x')")


def test_library_functions_have_their_own_graphs(open_graph: Any) -> None:
    """They are selected in the toolbar, or by a link in an op that calls them."""
    page = open_graph("calls", "&graphs.node=call")
    page.wait_for_function("() => graphs.text('.details').includes('Attributes')")
    page.get_by_role("button", name="double", exact=True).click()
    wait_for_setting(page, "graph", "function:double")
    page.wait_for_function("() => graphs.isDrawn()")
    open_outline(page)
    page.wait_for_function("() => graphs.names().includes('Mul')")
    page.get_by_label("Graph", exact=True).select_option("graph")
    page.wait_for_function("() => graphs.names().join() === 'call'")


def test_nodes_whose_names_differ_in_a_number_are_one_box(open_graph: Any) -> None:
    """Selecting a search result opens the box."""
    page = open_graph("numbered")
    open_outline(page)
    assert page.evaluate("() => graphs.names()") == ["even_*", "odd_*"]
    page.keyboard.press("/")
    page.keyboard.type("odd_17")
    page.wait_for_function("() => graphs.text('.results').includes('odd_17')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.isDrawn()")
    wait_for_setting(page, "open", "odd_*")
    page.keyboard.press("Escape")
    page.wait_for_function("() => graphs.text('.details h2') === 'odd_17'")
    open_outline(page)
    page.wait_for_function("() => graphs.row('odd_17')?.ariaSelected === 'true'")


def test_a_hundred_thousand_nodes_do_not_block_the_page(
    open_graph: Any, chromium: Any, tmp_path: Path, server: Any
) -> None:
    """No task of the page takes long enough to be noticed.

    Tasks are measured in processor time, from the browser's trace, so that other programs do not
    affect the result.
    """
    page = open_graph("small")
    page.goto("about:blank")
    chromium.start_tracing(page=page, categories=["toplevel"])
    page.goto(f"{server.url}/#graphs&graphs.run=large")
    page.wait_for_function("() => graphs.isDrawn()")
    open_outline(page)
    assert page.evaluate("() => graphs.names().length") == 20
    for scope, child in (("block_03", "layer_07"), ("block_03/layer_07", "op_00")):
        select_row(page, scope)
        page.evaluate("(name) => graphs.row(name).focus()", scope)
        page.keyboard.press("Enter")
        page.wait_for_function("(name) => graphs.names().includes(name)", arg=f"{scope}/{child}")
    page.mouse.move(700, 500)
    for _ in range(10):
        page.mouse.wheel(0, -120)
    page.wait_for_function("() => tb.frame().then(() => true)")
    events = json.loads(chromium.stop_tracing())["traceEvents"]
    assert page.evaluate("() => graphs.inked()") > 300
    longest = longest_task_ms(events)
    assert 0 < longest < LONG_TASK_MS


def longest_task_ms(events: list[dict[str, Any]]) -> float:
    """The longest processor time of a task on the main thread of a page, in milliseconds."""
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        event["tdur"] / 1000
        for event in events
        if event["name"] == "ThreadControllerImpl::RunTask"
        and (event["pid"], event["tid"]) in threads
        and "tdur" in event
    ]
    return max(tasks, default=0.0)


def test_narrow_pages_have_the_details_in_a_sheet(server: Any, new_profile: Any) -> None:
    """The sheet opens with the first selection, and the page does not scroll sideways."""
    profile = new_profile(viewport={"width": 400, "height": 800})  # its clock will be changed
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#graphs&graphs.run=small")
    wait_for_drawing(page)
    assert page.evaluate("() => graphs.root().querySelector('.pane')") is None
    # The sheet must not open between the clicks of a double click.
    place = position_of_box(page, "loss")
    # The page's clock is paused, so that the time between the clicks is exact.
    page.clock.install()
    page.clock.pause_at(time.time() + 60)
    page.mouse.click(*place)
    page.clock.run_for(150)
    page.mouse.click(*place, click_count=2)
    page.clock.resume()
    wait_for_setting(page, "open", "loss")
    assert page.evaluate("() => graphs.root().querySelector('.pane')") is None
    page.mouse.click(*position_of_box(page, "loss"))
    page.wait_for_function("() => graphs.text('.details h2') === 'loss'")
    pane = page.evaluate(
        "() => graphs.root().querySelector('.pane').getBoundingClientRect().toJSON()"
    )
    assert pane["width"] == 400
    assert page.evaluate("() => document.documentElement.scrollWidth") == 400


def test_all_real_graphs_and_a_scope_in_each_can_be_opened(
    serve: Any, profile: Any, real_logs: Path
) -> None:
    """Every graph of every run, including Keras models and functions."""
    real_server = serve(real_logs)
    page = profile.open(real_server.url, "#graphs")
    num_opened = 0
    for run in fetch_json(real_server, "runs"):
        graphs = fetch_json(real_server, "overview", run=run)["graphs"]
        assert graphs
        for graph in graphs:
            scope = fetch_json(real_server, "scope", run=run, graph=graph["id"])["children"]
            where = {"graphs.run": run, "graphs.graph": graph["id"]}
            scopes = [
                name
                for name, kind in zip(scope["name"], scope["kind"], strict=True)
                if kind == "scope"
            ]
            settings = urllib.parse.urlencode(where, quote_via=urllib.parse.quote)
            for hash in ("#audio", f"#graphs&{settings}"):  # opens the tab again
                page.evaluate("(hash) => { location.hash = hash; }", hash)
                page.wait_for_function(
                    "(tab) => document.querySelector('.plugin')?.dataset.plugin === tab",
                    arg=hash.partition("&")[0][1:],
                )
            if not scope["name"]:
                page.wait_for_function("() => graphs.text('.message').includes('without nodes')")
                continue
            wait_for_drawing(page)
            open_outline(page)
            names = page.evaluate("() => graphs.namesAt(1)")
            assert names == scope["name"][: len(names)]
            if not scopes or scopes[0] not in names:
                continue
            if scope["name"] != scopes[:1]:  # a lone scope opens by itself
                select_row(page, scopes[0])
                page.evaluate("(name) => graphs.row(name).focus()", scopes[0])
                page.keyboard.press("Enter")
            page.wait_for_function(
                "(name) => graphs.isDrawn() && graphs.row(name).ariaExpanded === 'true'",
                arg=scopes[0],
            )
            num_opened += 1
    assert num_opened >= 20


def fetch_json(server: Any, route: str, **params: str) -> Any:
    """The response of a route of the plugin."""
    query = urllib.parse.urlencode(params)
    with urllib.request.urlopen(f"{server.url}/data/plugin/graphs/{route}?{query}") as response:
        return json.load(response)


def test_runs_are_sorted_and_named_by_what_tells_them_apart(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """The list that is closed is too narrow for whole names, which often begin alike."""
    for number in (10, 9, 100):
        write_run(
            tmp_path / "logs",
            f"user__always_the_same__trial_{number}",
            graph=one_node("a"),
        )
    page = profile.open(serve(tmp_path / "logs").url, "#graphs")
    page.wait_for_function("() => graphs.isDrawn()")
    options = page.get_by_label("Run", exact=True).locator("option")
    names = [f"user__always_the_same__trial_{number}" for number in (9, 10, 100)]
    assert options.all_text_contents() == names
    page.get_by_label("Run", exact=True).select_option(names[2])
    parts = page.locator(".picker .tb-name > span")
    page.wait_for_function("() => graphs.text('.picker .tb-name-tail') === '100'")
    assert parts.all_text_contents() == ["user__always_the_same__trial_", "100"]
