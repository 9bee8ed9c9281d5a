"""The graphs tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore.testing import EventFileWriter, write_run

graph_pb2 = pytest.importorskip("tbcore_graphs.proto.graph_pb2")

pytestmark = pytest.mark.browser

LONG_TASK_MS = 200
"""How long the page may not answer to the reader at a time."""

HELPERS = """
globalThis.graphs = {
  root: () => document.querySelector('.plugin')?.shadowRoot,
  isDrawn: () => graphs.root()?.querySelector('.frame')?.getAttribute('aria-busy') === 'false',
  // What is looked at since when; a drawing that moves is another one in each frame.
  seen: { picture: '', since: 0 },
  standsStill: () => {
    const picture = graphs.root().querySelector('canvas').toDataURL();
    const now = performance.now();
    if (picture !== graphs.seen.picture) graphs.seen = { picture, since: now };
    return now - graphs.seen.since > 100;
  },
  // Until what was rendered has had its effects, such as that a drawing begins to move.
  effects: () => tb.frame().then(() => new Promise((done) => setTimeout(done))),
  // What the worker was asked to lay out.
  numJobs: 0,
  rows: () => [...(graphs.root()?.querySelectorAll('[role=treeitem]') ?? [])],
  names: () => graphs.rows().map((row) => row.title),
  row: (name) => graphs.rows().find((row) => row.title === name),
  text: (selector) => graphs.root()?.querySelector(selector)?.innerText ?? '',
  // Goes over the drawing until the window beside the pointer names a box.
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
  // How many pixels of the drawing are not background.
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
    """A model of two layers that are made alike, what saves it, and a scope in a scope."""
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
    """Blocks of layers of operations, each of which takes what the one before gave."""
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
    """A scope that takes many seconds to be laid out, and one that does not."""
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
    write_run(logdir, "scalars", scalars={"loss": [1.0]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], logdir: Path, graphs_path: list[Path]) -> Any:
    return serve_for_module(logdir, python_path=graphs_path)


@pytest.fixture
def page_of(server: Any, new_profile: Callable[..., Any]) -> Any:
    """Opens a graph of the module's server; returns the page, its profile and the server."""

    def open_page(
        run: str, settings: str = "", *, wait: bool = True, **options: Any
    ) -> tuple[Any, Any, Any]:
        profile = new_profile(**options)
        profile.context.add_init_script(HELPERS)
        page = profile.open(server.url, f"#graphs&graphs.run={run}{settings}")
        if wait:
            wait_for_drawing(page)
        return page, profile, server

    return open_page


def wait_for_drawing(page: Any) -> None:
    page.wait_for_function("() => graphs.isDrawn() && graphs.inked() > 300")


def wait_for_boxes(page: Any) -> None:
    """Until all are there and stand still."""
    page.wait_for_function("() => graphs.isDrawn()")
    page.evaluate("() => { graphs.seen.picture = ''; return graphs.effects(); }")
    page.wait_for_function("() => graphs.standsStill()")


def open_outline(page: Any) -> None:
    page.get_by_text("Outline", exact=True).click()
    page.wait_for_function("() => graphs.rows().length > 0")


def choose(page: Any, name: str) -> None:
    """Selects a row of the outline."""
    page.evaluate("(name) => graphs.row(name).click()", name)
    page.wait_for_function("(name) => graphs.row(name).ariaSelected === 'true'", arg=name)


def wait_for_setting(page: Any, name: str, value: str | None) -> None:
    """Waits until the address says so: it follows a moment later."""
    page.wait_for_function(
        """([name, value]) => (new URLSearchParams(location.hash.slice(1)).get(name) === value)""",
        arg=[f"graphs.{name}", value],
    )


def test_scopes_are_collapsed_at_first_and_opened_from_the_outline(page_of: Any) -> None:
    """The keyboard reaches everything: enter opens, the arrows walk and close."""
    page, profile, server = page_of("small")
    open_outline(page)
    assert page.evaluate("() => graphs.names()") == [
        "input", "layer_1", "layer_2", "loss", "head_a", "head_b", "save", "init",
    ]  # fmt: skip
    choose(page, "layer_1")
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
    profile.check(server.url)


def find_box(page: Any, name: str) -> tuple[float, float]:
    """A place of the drawing where the window beside the pointer names this box."""
    page.mouse.move(0, 0)
    wait_for_boxes(page)
    place = page.evaluate("(name) => graphs.find(name)", name)
    assert place is not None, f"no box {name!r} under the pointer anywhere"
    return place["x"], place["y"]


def test_a_double_click_opens_a_scope_and_a_click_tells_everything(page_of: Any) -> None:
    """What was under the pointer stays in sight."""
    page, profile, server = page_of("small")
    x, y = find_box(page, "layer_2")
    page.mouse.dblclick(x, y)
    wait_for_setting(page, "open", "layer_2")
    page.mouse.click(*find_box(page, "layer_2/MatMul"))
    page.wait_for_function("() => graphs.text('.details h2') === 'MatMul'")
    page.wait_for_function("() => graphs.text('.details').includes('layer_2/weights/read')")
    details = page.evaluate("() => graphs.text('.details')")
    for text in ("/device:CPU:0", "layer_1/Relu", "layer_2/weights/read", "64×64", "?×64"):
        assert text in details
    wait_for_setting(page, "node", "layer_2/MatMul")
    profile.check(server.url)


def test_a_link_restores_what_was_open_and_chosen(page_of: Any) -> None:
    """Also where the node that was chosen lies in scopes that the link does not open."""
    page, profile, server = page_of("small", "&graphs.node=layer_2/weights/kernel")
    page.wait_for_function("() => graphs.text('.details h2') === 'kernel'")
    wait_for_setting(page, "open", "layer_2,layer_2/weights")
    open_outline(page)
    assert page.evaluate("() => graphs.row('layer_2/weights/kernel').ariaSelected") == "true"
    profile.check(server.url)


def test_a_link_to_a_node_of_a_long_drawing_shows_that_node(page_of: Any) -> None:
    """A drawing of hundreds of ranks is a hair from far away."""
    page, profile, server = page_of("numbered", "&graphs.open=even_*&graphs.node=even_160")
    middle = page.get_by_role("img", name="Drawing of the graph").bounding_box()
    page.mouse.move(middle["x"] + middle["width"] / 2, middle["y"] + middle["height"] / 2)
    page.wait_for_function("() => graphs.text('.tb-chart-heading') === 'even_160'")
    profile.check(server.url)


def test_what_is_shown_stays_until_another_is_chosen(page_of: Any, logdir: Path) -> None:
    """Whatever is logged or checked meanwhile; a link to what is opened names its run."""
    page, profile, server = page_of("")
    shown = page.get_by_label("Run", exact=True)
    assert shown.input_value() == "calls"
    write_run(logdir, "a_first", graph=one_node("other"))
    page.wait_for_function(
        "() => [...graphs.root().querySelectorAll('option')].some((one) => one.value === 'a_first')"
    )
    page.wait_for_function("() => graphs.isDrawn()")
    assert shown.input_value() == "calls"
    open_outline(page)
    choose(page, "call")
    wait_for_setting(page, "run", "calls")
    profile.check(server.url)


def test_search_finds_names_and_ops_and_shows_where_they_are(page_of: Any) -> None:
    """Names of nodes are text, whatever they look like."""
    page, profile, server = page_of("small")
    page.keyboard.press("/")
    page.keyboard.type("MEAN")
    page.wait_for_function("() => graphs.text('.pane header').includes('1 match')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('graphs.open=loss')")
    # What was chosen is told below what was found.
    page.wait_for_function("() => graphs.text('.results + .details').includes('layer_2/Relu')")
    assert page.get_by_text("1 match", exact=True).is_visible()
    page.keyboard.press("/")
    page.keyboard.type("op:matm")
    page.wait_for_function("() => graphs.text('.pane header').includes('2 matches')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => graphs.text('.details h2') === '<i>mean'")
    # What is in sight stays where it is.
    place = find_box(page, "head_a")
    page.keyboard.type("head_a")
    page.wait_for_function("() => graphs.text('.pane header').includes('1 match')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.text('.details h2') === 'head_a'")
    page.wait_for_timeout(400)
    assert find_box(page, "head_a") == place
    profile.check(server.url)


def test_what_is_chosen_while_another_is_looked_for_stays_chosen(page_of: Any) -> None:
    """However late the answer comes; and what was opened meanwhile stays open."""
    page, profile, server = page_of("small", "&graphs.node=layer_2")
    held: list[Any] = []
    asked = "**/graphs/scope?*path=layer_1&*"
    # A method of a list cannot carry the mark that Playwright leaves on handlers.
    page.route(asked, lambda route: held.append(route))
    with page.expect_request(asked):
        page.get_by_role("button", name="layer_1/Relu").first.click()
    open_outline(page)
    choose(page, "loss")
    page.evaluate("() => graphs.row('loss').focus()")
    page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.names().includes('loss/<i>mean')")
    with page.expect_response(asked):
        held.pop().continue_()
    page.evaluate("() => graphs.effects()")
    wait_for_setting(page, "node", "loss")
    wait_for_setting(page, "open", "loss")
    # Looked for once more, it is opened beside the other.
    page.get_by_text("Details", exact=True).click()
    page.get_by_role("button", name="layer_2/Relu").first.click()
    wait_for_setting(page, "node", "layer_2/Relu")
    wait_for_setting(page, "open", "loss,layer_2")
    profile.check(server.url)


def test_what_saves_and_sets_up_stands_apart_and_can_be_brought_in(page_of: Any) -> None:
    """And is said to be auxiliary where it cannot be seen."""
    page, profile, server = page_of("small")
    open_outline(page)
    apart = "() => graphs.rows().filter((row) => row.ariaLabel.includes('auxiliary'))"
    assert page.evaluate(f"() => ({apart})().map((row) => row.title)") == ["save", "init"]
    choose(page, "init")
    page.get_by_text("Details", exact=True).click()
    page.get_by_role("button", name="Bring into the flow").click()
    page.wait_for_function("() => graphs.isDrawn()")
    open_outline(page)
    page.wait_for_function(f"() => ({apart})().length === 1")
    wait_for_setting(page, "in", "init")
    profile.check(server.url)


def test_the_drawing_is_saved_as_svg_and_png(page_of: Any, tmp_path: Path) -> None:
    """All of it, however little is in sight."""
    page, profile, server = page_of("small", "&graphs.open=layer_1")
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
    profile.check(server.url)


def test_inputs_are_traced_however_far_back(page_of: Any) -> None:
    """Of a scope as of a node; what was drawn there is faint. A link shows the same."""
    page, profile, server = page_of("small", "&graphs.open=layer_2&graphs.node=layer_2")
    for text in ("layer_1/Relu", "loss/<i>mean", "?×64"):
        page.wait_for_function("(text) => graphs.text('.details').includes(text)", arg=text)
    before = page.evaluate("() => graphs.inked()")
    page.get_by_role("button", name="Trace inputs").click()
    # All of both layers, and the input.
    page.wait_for_function("() => graphs.text('.details').includes('Traced back to 9 nodes')")
    wait_for_setting(page, "trace", "true")
    page.wait_for_function("(before) => graphs.inked() < before", arg=before)
    page.keyboard.press("t")
    wait_for_setting(page, "trace", None)
    page.keyboard.press("t")
    page.get_by_role("button", name="layer_1/Relu").first.click()
    page.wait_for_function("() => graphs.text('.details').includes('Traced back to 5 nodes')")
    profile.check(server.url)


def test_a_small_picture_of_all_shows_where_one_is(page_of: Any) -> None:
    """While not everything is in sight; a press on it goes there, and arrow keys go on."""
    page, profile, server = page_of("small", "&graphs.open=layer_1,layer_2")
    is_shown = "() => graphs.root().querySelector('.minimap').checkVisibility()"
    assert not page.evaluate(is_shown)
    page.mouse.move(700, 500)
    for _ in range(6):
        page.mouse.wheel(0, -240)
    page.wait_for_function(is_shown)
    sight = "() => graphs.root().querySelector('.minimap i').style.translate"
    before = page.evaluate(sight)
    page.locator(".minimap").click(position={"x": 5, "y": 5})
    page.wait_for_function(f"(before) => ({sight})() !== before", arg=before)
    before = page.evaluate(sight)
    page.get_by_role("img", name="Drawing of the graph").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(f"(before) => ({sight})() !== before", arg=before)
    page.keyboard.press("f")
    page.wait_for_function(f"() => !({is_shown})()")
    profile.check(server.url)


def test_a_scope_with_too_many_nodes_says_so(page_of: Any) -> None:
    """And search still finds each of them."""
    page, profile, server = page_of("flat", wait=False)
    page.wait_for_function("() => graphs.text('.message').includes('3,000 nodes in one scope')")
    page.keyboard.press("/")
    page.keyboard.type("zaaa")
    page.wait_for_function("() => graphs.text('.pane header').includes('1 match')")
    profile.check(server.url)


def test_a_graph_that_is_logged_anew_takes_the_place_of_the_old_one(
    page_of: Any, logdir: Path
) -> None:
    """What only grows beside it changes nothing."""
    page, profile, server = page_of("grows")
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
    profile.check(server.url)


def test_a_scope_that_takes_long_keeps_no_other_waiting(page_of: Any) -> None:
    """Once it was closed again: the worker that lays it out is given up."""
    page, profile, server = page_of("tangled")
    open_outline(page)
    choose(page, "slow")
    num_jobs = page.evaluate("() => graphs.numJobs")
    with page.expect_worker(lambda worker: "layout-worker" in worker.url):
        page.evaluate("() => graphs.row('slow').focus()")
        page.keyboard.press("Enter")
        page.wait_for_function("(before) => graphs.numJobs > before", arg=num_jobs)
        assert not page.evaluate("() => graphs.isDrawn()")
        page.keyboard.press("Enter")
        choose(page, "quick")
        page.evaluate("() => graphs.row('quick').focus()")
        page.keyboard.press("Enter")
    page.wait_for_function("() => graphs.names().includes('quick/x')")
    profile.check(server.url)


def test_functions_of_a_graph_have_graphs_of_their_own(page_of: Any) -> None:
    """They are chosen in the bar, or followed from the operation that calls them."""
    page, profile, server = page_of("calls", "&graphs.node=call")
    page.wait_for_function("() => graphs.text('.details').includes('Attributes')")
    page.get_by_role("button", name="double", exact=True).click()
    wait_for_setting(page, "graph", "function:double")
    page.wait_for_function("() => graphs.isDrawn()")
    open_outline(page)
    page.wait_for_function("() => graphs.names().includes('Mul')")
    page.get_by_label("Graph", exact=True).select_option("graph")
    page.wait_for_function("() => graphs.names().join() === 'call'")
    profile.check(server.url)


def test_many_whose_names_differ_in_a_number_are_one_box_that_opens(page_of: Any) -> None:
    """Search opens it as well, to show one of them."""
    page, profile, server = page_of("numbered")
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
    profile.check(server.url)


def test_a_hundred_thousand_nodes_open_without_holding_the_page_up(
    page_of: Any, chromium: Any, tmp_path: Path
) -> None:
    """No task of the page takes longer than the reader would notice.

    The browser's own trace tells the processor time of each: what other programs do at the same
    time does not count.
    """
    page, profile, server = page_of("small")
    page.goto("about:blank")
    chromium.start_tracing(page=page, categories=["toplevel"])
    page.goto(f"{server.url}/#graphs&graphs.run=large")
    page.wait_for_function("() => graphs.isDrawn()")
    open_outline(page)
    assert page.evaluate("() => graphs.names().length") == 20
    for scope, child in (("block_03", "layer_07"), ("block_03/layer_07", "op_00")):
        choose(page, scope)
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
    profile.check(server.url)


def longest_task_ms(events: list[dict[str, Any]]) -> float:
    """The most processor time of one task on the main thread of a page, in milliseconds."""
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


def test_narrow_pages_have_the_details_in_a_sheet(page_of: Any) -> None:
    """The drawing has all the room until something is chosen, and the page does not scroll."""
    page, profile, server = page_of("small", viewport={"width": 400, "height": 800})
    assert page.evaluate("() => graphs.root().querySelector('.pane')") is None
    # The sheet does not come between the clicks of two.
    place = find_box(page, "loss")
    # By a clock that stands still between them, for however long that is.
    page.clock.install()
    page.clock.pause_at(time.time() + 60)
    page.mouse.click(*place)
    page.clock.run_for(150)
    page.mouse.click(*place, click_count=2)
    page.clock.resume()
    wait_for_setting(page, "open", "loss")
    assert page.evaluate("() => graphs.root().querySelector('.pane')") is None
    page.mouse.click(*find_box(page, "loss"))
    page.wait_for_function("() => graphs.text('.details h2') === 'loss'")
    pane = page.evaluate(
        "() => graphs.root().querySelector('.pane').getBoundingClientRect().toJSON()"
    )
    assert pane["width"] == 400
    assert page.evaluate("() => document.documentElement.scrollWidth") == 400
    profile.check(server.url)


@pytest.fixture(scope="module")
def real_server(
    serve_for_module: Callable[..., Any], graphs_path: list[Path], real_logs: Path
) -> Any:
    return serve_for_module(real_logs, python_path=graphs_path)


def test_all_real_graphs_open_and_so_does_a_scope_in_them(
    real_server: Any, new_profile: Callable[..., Any]
) -> None:
    """Every graph of every run, those of Keras models and functions too."""
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(real_server.url, "#graphs")
    num_opened = 0
    for run in answer(real_server, "runs"):
        graphs = answer(real_server, "overview", run=run)["graphs"]
        assert graphs
        for graph in graphs:
            scope = answer(real_server, "scope", run=run, graph=graph["id"])["children"]
            where = {"graphs.run": run, "graphs.graph": graph["id"]}
            scopes = [
                name
                for name, kind in zip(scope["name"], scope["kind"], strict=True)
                if kind == "scope"
            ]
            settings = urllib.parse.urlencode(where, quote_via=urllib.parse.quote)
            page.goto("about:blank")
            page.goto(f"{real_server.url}/#graphs&{settings}")
            if not scope["name"]:
                page.wait_for_function("() => graphs.text('.message').includes('without nodes')")
                continue
            wait_for_drawing(page)
            open_outline(page)
            names = page.evaluate("() => graphs.names()")
            assert names == scope["name"][: len(names)]
            if not scopes or scopes[0] not in names:
                continue
            choose(page, scopes[0])
            page.evaluate("(name) => graphs.row(name).focus()", scopes[0])
            page.keyboard.press("Enter")
            page.wait_for_function(
                "(name) => graphs.isDrawn() && graphs.row(name).ariaExpanded === 'true'",
                arg=scopes[0],
            )
            num_opened += 1
    assert num_opened >= 20
    profile.check(real_server.url)


def answer(server: Any, route: str, **params: str) -> Any:
    query = urllib.parse.urlencode(params)
    with urllib.request.urlopen(f"{server.url}/data/plugin/graphs/{route}?{query}") as response:
        return json.load(response)
