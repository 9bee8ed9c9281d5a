"""The images tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore.testing import EventFileWriter, summaries, write_run

pytestmark = pytest.mark.browser

NUM_STEPS = 25
"""More than the 10 steps that the server samples by default."""

HELPERS = """
globalThis.pictures = {
  cell: (tag, run) => tb.card(tag)?.querySelector(`.tb-step-cell[aria-label="${run}"]`),
  images: (tag, run) => [...(pictures.cell(tag, run)?.querySelectorAll('img') ?? [])],
  // Widths of the loaded images; a test logs each image with a different width.
  widths: (tag, run) => pictures.images(tag, run).map((image) => image.naturalWidth),
  text: (tag, run) => pictures.cell(tag, run)?.textContent ?? '',
};
const create = URL.createObjectURL;
URL.createObjectURL = (blob) => {
  globalThis.numObjects = (globalThis.numObjects ?? 0) + 1;
  return create.call(URL, blob);
};
"""


def picture(width: int, height: int = 6) -> bytes:
    return summaries.png(width, height, rgb=(9 * width % 256, 120, 60))


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image of step 10 * i is 10 + i pixels wide."""
    logdir = tmp_path_factory.mktemp("logdir")
    points = [(10 * i, picture(10 + i)) for i in range(NUM_STEPS)]
    write_run(logdir, "train", images={"input/digit": points, "input/first": points[:2]})
    write_run(logdir, "eval", images={"input/digit": points[5:8]})
    # An undetectable restart: step 0 is logged twice.
    twice = [(0, picture(30)), (0, picture(31)), (5, picture(32))]
    write_run(logdir, "twice", images={"again": twice})
    with EventFileWriter(logdir / "batch" / "a.tfevents") as writer:
        many = [picture(40 + k) for k in range(15)]
        writer.add_image("batch", many, step=3, as_tensor=True)
        writer.add_summary(4, summaries.image("broken", b"no picture", width=5, height=5))
    write_run(logdir, "plain", scalars={"loss": [0.5]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], logdir: Path, images_path: list[Path]) -> Any:
    return serve_for_module(logdir, python_path=images_path)


@pytest.fixture
def page_of(server: Any, new_profile: Callable[..., Any]) -> Any:
    """Opens a page of the module's server; returns it, its browser profile and the server."""

    def open_page(hash: str = "#images", **options: Any) -> tuple[Any, Any, Any]:
        profile = new_profile(**options)
        profile.context.add_init_script(HELPERS)
        return profile.open(server.url, hash), profile, server

    return open_page


def wait_for_widths(page: Any, tag: str, run: str, widths: list[int]) -> None:
    """Waits until a cell shows loaded images of exactly these widths."""
    page.wait_for_function(
        "([tag, run, widths]) => String(pictures.widths(tag, run)) === String(widths)",
        arg=[tag, run, widths],
    )


def test_all_steps_can_be_reached(page_of: Any) -> None:
    """The latest is shown first; the arrow keys reach every step, not only sampled ones."""
    page, profile, server = page_of("#images&runFilter=train|eval")
    wait_for_widths(page, "input/digit", "train", [10 + NUM_STEPS - 1])
    slider = page.get_by_role("slider", name="Step of input/digit")
    slider.press("Home")
    for i in range(NUM_STEPS):
        wait_for_widths(page, "input/digit", "train", [10 + i])
        assert f"step {10 * i}" in page.evaluate("() => pictures.text('input/digit', 'train')")
        slider.press("ArrowRight")
    page.wait_for_function("() => !location.hash.includes('images.at')")
    profile.check(server.url)


def test_images_that_share_a_step_can_all_be_reached(page_of: Any) -> None:
    page, profile, server = page_of("#images&runFilter=twice")
    slider = page.get_by_role("slider", name="Step of again")
    wait_for_widths(page, "again", "twice", [32])
    slider.press("ArrowLeft")
    wait_for_widths(page, "again", "twice", [31])
    slider.press("ArrowLeft")
    wait_for_widths(page, "again", "twice", [30])
    slider.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('images.at=again:0~1')")
    profile.check(server.url)


def test_one_slider_moves_all_cards_and_each_has_its_own(page_of: Any) -> None:
    """Runs are side by side at one step; a link restores all sliders."""
    page, profile, server = page_of("#images&runFilter=train|eval|twice")
    wait_for_widths(page, "input/first", "train", [11])
    wait_for_widths(page, "input/digit", "train", [34])
    everything = page.get_by_role("slider", name="Step of all images")
    everything.press("Home")
    wait_for_widths(page, "input/digit", "train", [10])
    wait_for_widths(page, "input/first", "train", [10])
    wait_for_widths(page, "again", "twice", [30])
    page.wait_for_function(
        "() => pictures.text('input/digit', 'eval')"
        ".includes('Nothing was logged up to step 0. The first step is 50')"
    )
    page.keyboard.press("]")
    page.keyboard.press("]")  # the second of step 0, then step 5
    wait_for_widths(page, "again", "twice", [32])

    own = page.get_by_role("slider", name="Step of input/digit")
    for _ in range(9):
        own.press("ArrowRight")
    wait_for_widths(page, "input/digit", "train", [19])
    wait_for_widths(page, "input/digit", "eval", [17])  # the last before step 90
    wait_for_widths(page, "input/first", "train", [10])
    page.wait_for_function("() => location.hash.includes('images.at=input/digit:90')")
    hash = page.evaluate("() => location.hash")
    assert "images.step=5" in hash

    again = profile.open(server.url, hash)
    wait_for_widths(again, "input/digit", "train", [19])
    wait_for_widths(again, "again", "twice", [32])
    again.get_by_role("button", name="input/digit: back to the step of all cards").click()
    wait_for_widths(again, "input/digit", "train", [10])
    profile.check(server.url)


def test_arrow_keys_work_on_a_focused_image(page_of: Any) -> None:
    page, profile, server = page_of("#images&tagFilter=digit")
    wait_for_widths(page, "input/digit", "train", [34])
    page.get_by_role("button", name="input/digit, train, step 240").focus()
    page.keyboard.press("ArrowLeft")
    wait_for_widths(page, "input/digit", "train", [33])
    page.keyboard.press("ArrowRight")
    wait_for_widths(page, "input/digit", "train", [34])
    page.keyboard.press("f")
    page.locator(".tb-expanded").wait_for()
    page.keyboard.press("Escape")
    page.locator(".tb-expanded").wait_for(state="detached")
    profile.check(server.url)


def test_all_samples_of_a_step_are_shown(page_of: Any) -> None:
    """Twelve at first, and the rest after a click."""
    page, profile, server = page_of("#images&runFilter=batch")
    wait_for_widths(page, "batch", "batch", list(range(40, 52)))
    page.get_by_role("button", name="Show 3 more at this step").click()
    wait_for_widths(page, "batch", "batch", list(range(40, 55)))
    assert "15 of 15" in page.evaluate("() => pictures.text('batch', 'batch')")
    profile.check(server.url)


def test_sizes_brightness_and_contrast(page_of: Any) -> None:
    """Enlarged pixels are squares unless smoothed; a button shows changed brightness."""
    page, profile, server = page_of("#images&runFilter=train&tagFilter=digit")
    wait_for_widths(page, "input/digit", "train", [34])

    def shown() -> Any:
        return page.evaluate(
            """() => {
              const [image] = pictures.images('input/digit', 'train');
              const { imageRendering, filter } = getComputedStyle(image);
              return [image.clientWidth, imageRendering, filter];
            }"""
        )

    page.get_by_text("1×", exact=True).click()
    page.wait_for_function("() => location.hash.includes('images.size=1')")
    page.wait_for_function(
        "() => !pictures.images('input/digit', 'train')[0].classList.contains('enlarged')"
    )
    assert shown() == [34, "auto", "none"]
    page.get_by_text("8×", exact=True).click()
    page.wait_for_function(
        "() => pictures.images('input/digit', 'train')[0].clientWidth === 8 * 34"
    )
    page.wait_for_function(
        "() => pictures.images('input/digit', 'train')[0].classList.contains('enlarged')"
    )
    assert shown()[1] == "pixelated"
    page.get_by_role("button", name="Brightness and contrast").click()
    page.get_by_role("checkbox", name="Smooth enlarged images").check()
    page.wait_for_function("() => location.hash.includes('images.smooth=true')")
    page.wait_for_function(
        "() => !pictures.images('input/digit', 'train')[0].classList.contains('enlarged')"
    )
    assert shown()[1] == "auto"
    page.get_by_role("slider", name="Brightness").fill("150")
    page.get_by_role("slider", name="Contrast").fill("50")
    assert shown()[2] == "brightness(1.5) contrast(0.5)"
    page.keyboard.press("Escape")

    # The browser remembers the size, but not the brightness.
    again = profile.open(server.url, "#images")
    again.wait_for_function("() => location.hash.includes('images.size=8')")
    assert "bright" not in again.evaluate("() => location.hash")

    page.get_by_role("button", name="Brightness 150 %, contrast 50 %").click()
    assert shown()[2] == "none"
    page.get_by_role("button", name="input/digit, train, step 240").click()
    page.wait_for_function("() => pictures.images('input/digit', 'train')[0].clientWidth === 34")
    profile.check(server.url)


def test_the_logged_bytes_can_be_downloaded(page_of: Any) -> None:
    page, profile, server = page_of("#images&tagFilter=digit&images.step=60")
    wait_for_widths(page, "input/digit", "train", [16])
    with page.expect_download() as download:
        page.get_by_role("link", name="Download image of train, input/digit").click()
    assert download.value.suggested_filename == "train_input_digit_step60.png"
    assert Path(download.value.path()).read_bytes() == picture(16)
    profile.check(server.url)


def test_data_that_is_not_an_image_shows_an_error(page_of: Any) -> None:
    """It can still be downloaded."""
    page, profile, server = page_of("#images&runFilter=batch&tagFilter=broken")
    page.wait_for_function(
        "() => pictures.text('broken', 'batch').includes('cannot show this image')"
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Download image of batch, broken").click()
    assert Path(download.value.path()).read_bytes() == b"no picture"
    profile.check(server.url)


def test_empty_states_say_why(page_of: Any) -> None:
    page, profile, server = page_of("#images&runFilter=plain")
    page.get_by_text("The selected runs have no images.").wait_for()
    page.get_by_role("searchbox", name="Filter tags").fill("xyz")
    page.get_by_text("No tag of the selected runs matches “xyz”.").wait_for()
    profile.check(server.url)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_does_not_scroll_sideways(page_of: Any, scheme: str) -> None:
    page, profile, server = page_of(
        "#images&tagFilter=input&images.size=8&images.bright=120",
        viewport={"width": 400, "height": 800},
        color_scheme=scheme,
    )
    wait_for_widths(page, "input/digit", "train", [34])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert page.evaluate("() => document.documentElement.dataset.theme") == scheme
    profile.check(server.url)


def test_only_images_near_the_view_are_loaded_and_none_are_kept(
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    tmp_path: Path,
    images_path: list[Path],
) -> None:
    """Of 48 cards only visible ones hold images; closing the tab drops all."""
    logdir = tmp_path / "many"
    write_run(logdir, "run", images={f"t/{i:03}": [picture(10 + i, 60)] for i in range(48)})
    server = serve(logdir, python_path=images_path)
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#images&images.size=fit")
    wait_for_widths(page, "t/000", "run", [10])

    def num_requests(tag: str) -> int:
        return sum(
            "individualImage" in url and f"tag=t%2F{tag}" in url for url in profile.requested_urls
        )

    page.wait_for_function("() => tb.all('.tb-card').length === 48")
    assert num_requests("000") == 1
    assert num_requests("047") == 0
    page.evaluate("() => tb.card('t/047').scrollIntoView()")
    wait_for_widths(page, "t/047", "run", [57])
    page.wait_for_function("() => pictures.images('t/000', 'run').length === 0")
    height = page.evaluate("() => tb.card('t/000').offsetHeight")
    assert height > 150  # the card keeps its height
    page.get_by_role("tab", name="Scalars", exact=True).click()
    page.wait_for_function("() => tb.all('img').length === 0")
    assert page.evaluate("() => globalThis.numObjects ?? 0") == 0
    profile.check(server.url)


def test_new_images_appear_without_a_reload(
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    tmp_path: Path,
    images_path: list[Path],
) -> None:
    """A card follows the latest step unless a step is selected."""
    logdir = tmp_path / "live"
    with EventFileWriter(logdir / "run" / "a.tfevents") as writer:
        for step in (0, 1):
            writer.add_image("a", picture(10 + step), step=step)
            writer.add_image("b", picture(20 + step), step=step)
        writer.flush()
        server = serve(logdir, python_path=images_path)
        profile = new_profile()
        profile.context.add_init_script(HELPERS)
        page = profile.open(server.url, "#images&images.at=b:1")
        wait_for_widths(page, "a", "run", [11])
        wait_for_widths(page, "b", "run", [21])
        writer.add_image("a", picture(12), step=2)
        writer.add_image("b", picture(22), step=2)
        writer.add_image("c", picture(30), step=2)
        writer.flush()
        wait_for_widths(page, "a", "run", [12])
        wait_for_widths(page, "c", "run", [30])
        wait_for_widths(page, "b", "run", [21])
        page.get_by_role("slider", name="Step of b", exact=True).press("End")
        wait_for_widths(page, "b", "run", [22])
    profile.check(server.url)


def test_a_deleted_file_is_reported(
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    tmp_path: Path,
    images_path: list[Path],
) -> None:
    """The cell shows an error instead of an image."""
    logdir = tmp_path / "gone"
    path = write_run(logdir, "run", images={"a": [picture(10), picture(11)]})
    server = serve(logdir, "--reload_interval", "0", python_path=images_path)
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#images")
    wait_for_widths(page, "a", "run", [11])
    path.unlink()
    page.get_by_role("slider", name="Step of a", exact=True).press("Home")
    page.wait_for_function("() => pictures.cell('a', 'run').querySelector('.tb-step-error')")
    message = page.evaluate(
        "() => pictures.cell('a', 'run').querySelector('.tb-step-error').textContent"
    )
    assert path.name in message
    # The browser logs only the 404.
    assert all("404" in fault for fault in profile.errors)


def gif(width: int, height: int, num_frames: int = 1) -> bytes:
    """A GIF with two colours and uncompressed codes."""
    clear, end = 4, 5
    # Codes have three bits. The table is cleared before it would need codes of four bits.
    codes = [code for _ in range(width * height) for code in (clear, 1)] + [end]
    bits = sum(code << (3 * place) for place, code in enumerate(codes))
    data = bits.to_bytes((3 * len(codes) + 7) // 8, "little")
    blocks = b"".join(
        bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255)
    )
    frame = b"\x21\xf9\x04\x00\x0a\x00\x00\x00" + struct.pack(
        "<cHHHHB", b",", 0, 0, width, height, 0
    )
    colors = bytes([0, 0, 0, 200, 40, 40, 0, 0, 0, 0, 0, 0])
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF1, 0, 0) + colors
    return screen + (frame + b"\x02" + blocks + b"\0") * num_frames + b";"


def bmp(width: int, height: int) -> bytes:
    """A BMP with 24 bits per pixel; with a negative height, the top row is first."""
    rows = (bytes([40, 40, 200]) * width + bytes(-3 * width % 4)) * abs(height)
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    return struct.pack("<2sIHHI", b"BM", 54 + len(rows), 0, 0, 54) + header + rows


def drawn_by_the_browser(page: Any, content_type: str, width: int, height: int) -> bytes:
    """An image in a format that only the browser can write."""
    url = page.evaluate(
        """([type, width, height]) => {
          const canvas = Object.assign(document.createElement('canvas'), { width, height });
          const context = canvas.getContext('2d');
          context.fillStyle = 'teal';
          context.fillRect(0, 0, width, height);
          return canvas.toDataURL(type);
        }""",
        [content_type, width, height],
    )
    head, _, data = url.partition(",")
    assert head == f"data:{content_type};base64"
    return base64.b64decode(data)


def test_every_format_is_shown_in_its_own_size(
    page_of: Any, serve: Callable[..., Any], new_profile: Callable[..., Any], tmp_path: Path,
    images_path: list[Path],
) -> None:  # fmt: skip
    """The logged size is ignored; also animated, upside down, and of one pixel."""
    maker, _, _ = page_of()
    pictures = {
        "jpeg": (drawn_by_the_browser(maker, "image/jpeg", 31, 17), "image/jpeg", 31, 17),
        "webp": (drawn_by_the_browser(maker, "image/webp", 32, 18), "image/webp", 32, 18),
        "gif": (gif(33, 19), "image/gif", 33, 19),
        "animated": (gif(34, 20, num_frames=3), "image/gif", 34, 20),
        "bmp": (bmp(35, 21), "image/bmp", 35, 21),
        "upside down": (bmp(36, -22), "image/bmp", 36, 22),
        "pixel": (summaries.png(1, 1), "image/png", 1, 1),
        "line": (summaries.png(900, 1), "image/png", 900, 1),
    }
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for tag, (data, *_) in pictures.items():
            writer.add_summary(0, summaries.image(tag, data, width=1, height=1))
    server = serve(tmp_path, python_path=images_path)
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#images&images.size=1")
    for tag, (_, content_type, width, height) in pictures.items():
        wait_for_widths(page, tag, "run", [width])
        shown = page.evaluate(
            """async (tag) => {
              const [image] = pictures.images(tag, 'run');
              const { headers } = await fetch(image.src);
              return [headers.get('content-type'), image.naturalHeight];
            }""",
            tag,
        )
        assert shown == [content_type, height]
    profile.check(server.url)


def test_scripts_in_images_do_not_run(
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    tmp_path: Path,
    images_path: list[Path],
) -> None:
    """SVG and HTML are not shown as images; opening their address downloads them."""
    script = b"<script>globalThis.ran = true; fetch('/ran')</script>"
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">' + script + b"</svg>"
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for tag, data in {"svg": svg, "html": b"<!doctype html>" + script, "none": b""}.items():
            writer.add_summary(0, summaries.image(tag, data, width=9, height=9))
        huge = summaries.png(1, 1).replace(
            struct.pack(">II", 1, 1), struct.pack(">II", 60000, 60000)
        )
        writer.add_summary(0, summaries.image("huge", huge, width=1, height=1))
    server = serve(tmp_path, python_path=images_path)
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#images&images.size=1")
    for tag in ("svg", "html", "none", "huge"):
        page.wait_for_function(
            "(tag) => pictures.text(tag, 'run').includes('cannot show this image')", arg=tag
        )
    assert page.evaluate("() => globalThis.ran") is None
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1400
    with page.expect_download():
        page.evaluate("() => { location.href = pictures.images('html', 'run')[0].src; }")
    assert not any(url.endswith("/ran") for url in profile.requested_urls)


def test_the_slider_has_the_steps_of_cards_out_of_view(
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    tmp_path: Path,
    images_path: list[Path],
) -> None:
    """They come in one request; only cells near the view request their contents, once each."""
    many = {f"t/{i:03}": [(i, picture(10 + i, 60))] for i in range(60)}
    write_run(tmp_path, "run", images=many)
    server = serve(tmp_path, python_path=images_path)
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#images")
    wait_for_widths(page, "t/000", "run", [10])
    everything = page.get_by_role("slider", name="Step of all images")
    assert everything.get_attribute("max") == "59"
    requests = [url for url in profile.requested_urls if "/images/step?" in url]
    assert len(requests) == len(set(requests)) < 48
    assert not any("t%2F047" in url for url in requests)
    profile.check(server.url)


def test_the_next_step_is_prefetched(page_of: Any) -> None:
    """In the direction of the last move, and only after a first move."""
    page, profile, server = page_of("#images&runFilter=train&tagFilter=digit&images.step=100")

    def was_requested(index: int) -> bool:
        return any(
            "individualImage" in url and f"index={index}&" in url for url in profile.requested_urls
        )

    wait_for_widths(page, "input/digit", "train", [20])
    assert not was_requested(9)
    assert not was_requested(11)
    with page.expect_response(lambda response: "index=12&" in response.url):
        page.get_by_role("slider", name="Step of input/digit").press("ArrowRight")
    wait_for_widths(page, "input/digit", "train", [21])
    with page.expect_response(lambda response: "index=9&" in response.url):
        page.get_by_role("slider", name="Step of input/digit").press("ArrowLeft")
    assert not was_requested(13)
    profile.check(server.url)


def test_runs_of_a_group_are_adjacent(
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    tmp_path: Path,
    images_path: list[Path],
) -> None:
    """Each cell has the name of its group."""
    for run in ("a-one", "a-two", "b-one", "b-two"):
        write_run(tmp_path, run, images={"i": [picture(10)]})
    server = serve(tmp_path, python_path=images_path)
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#images&group=re:-(.*)")
    page.wait_for_function("() => tb.all('.tb-run-group').length === 4")
    cells = page.evaluate(
        """() => tb.all('.tb-step-cell').map((cell) => [
          cell.getAttribute('aria-label'), cell.querySelector('.tb-run-group').textContent])"""
    )
    assert cells == [["a-one", "one"], ["b-one", "one"], ["a-two", "two"], ["b-two", "two"]]
    profile.check(server.url)


def test_real_images_are_shown(
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    real_logs: Path,
    images_path: list[Path],
) -> None:
    server = serve(real_logs, python_path=images_path)
    profile = new_profile()
    page = profile.open(server.url, "#images")
    page.wait_for_function(
        """() => {
          const images = tb.all('img');
          return images.length > 10 && images.every((image) => image.naturalWidth > 0);
        }"""
    )
    profile.check(server.url)
