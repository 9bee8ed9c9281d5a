"""The images tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until

from tbcore_testing import EventFileWriter, summaries, write_run

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
    # A card for each of 60 steps.
    many = {f"t/{i:03}": [(i, picture(10 + i, 60))] for i in range(60)}
    write_run(logdir, "many", images=many)
    for run in ("a-one", "a-two", "b-one", "b-two"):
        write_run(logdir, run, images={"i": [picture(10)]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def wait_for_widths(page: Any, tag: str, run: str, widths: list[int]) -> None:
    """Waits until a cell shows loaded images of exactly these widths."""
    page.wait_for_function(
        "([tag, run, widths]) => String(pictures.widths(tag, run)) === String(widths)",
        arg=[tag, run, widths],
    )


def test_all_steps_can_be_reached(open_page: Any) -> None:
    """The latest is shown first; the arrow keys reach every step, not only sampled ones."""
    page = open_page("#images&query=train|eval")
    wait_for_widths(page, "input/digit", "train", [10 + NUM_STEPS - 1])
    slider = page.get_by_role("slider", name="Step of input/digit")
    slider.press("Home")
    for i in range(NUM_STEPS):
        wait_for_widths(page, "input/digit", "train", [10 + i])
        assert f"step {10 * i}" in page.evaluate("() => pictures.text('input/digit', 'train')")
        slider.press("ArrowRight")
    page.wait_for_function("() => !location.hash.includes('images.at')")


def test_images_that_share_a_step_can_all_be_reached(open_page: Any) -> None:
    page = open_page("#images&query=twice")
    slider = page.get_by_role("slider", name="Step of again")
    wait_for_widths(page, "again", "twice", [32])
    slider.press("ArrowLeft")
    wait_for_widths(page, "again", "twice", [31])
    slider.press("ArrowLeft")
    wait_for_widths(page, "again", "twice", [30])
    slider.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('images.at=again:0~1')")


def test_one_slider_moves_all_cards_and_each_has_its_own(open_page: Any) -> None:
    """Runs are side by side at one step; a link restores all sliders."""
    page = open_page("#images&query=train|eval|twice")
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
    assert "step=5" in hash
    page.get_by_role("button", name="1 card elsewhere").wait_for()

    again = open_page(hash)
    wait_for_widths(again, "input/digit", "train", [19])
    wait_for_widths(again, "again", "twice", [32])
    again.get_by_role("button", name="input/digit: back to the step of all cards").click()
    wait_for_widths(again, "input/digit", "train", [10])
    assert again.get_by_role("button", name="elsewhere").count() == 0
    page.get_by_role("button", name="1 card elsewhere").click()
    wait_for_widths(page, "input/digit", "train", [10])
    page.wait_for_function("() => !location.hash.includes('images.at=')")


def test_arrow_keys_work_on_a_focused_image(open_page: Any) -> None:
    page = open_page("#images&tagQuery=digit")
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


def test_all_samples_of_a_step_are_shown(open_page: Any) -> None:
    """Twelve at first, and the rest after a click."""
    page = open_page("#images&query=batch")
    wait_for_widths(page, "batch", "batch", list(range(40, 52)))
    page.get_by_role("button", name="Show 3 more at this step").click()
    wait_for_widths(page, "batch", "batch", list(range(40, 55)))
    assert "15 of 15" in page.evaluate("() => pictures.text('batch', 'batch')")


def test_sizes_brightness_and_contrast(open_page: Any) -> None:
    """Enlarged pixels are squares unless smoothed; a button shows changed brightness."""
    page = open_page("#images&query=train&tagQuery=digit")
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
    again = open_page("#images")
    again.wait_for_function("() => location.hash.includes('images.size=8')")
    assert "bright" not in again.evaluate("() => location.hash")

    page.get_by_role("button", name="Brightness 150 %, contrast 50 %").click()
    assert shown()[2] == "none"


ENLARGED = """([alt, width]) => {
  const [image] = tb.all('dialog[open] img');
  return image?.alt === alt && image.naturalWidth === width;
}"""
"""Whether the lightbox shows an image, by its description and its width in pixels."""


def test_a_click_enlarges_an_image_to_the_size_of_the_window(open_page: Any) -> None:
    """Left and right go through the steps, up and down through the runs; Escape closes it."""
    page = open_page("#images&query=train|eval&tagQuery=digit&step=60")
    wait_for_widths(page, "input/digit", "train", [16])
    wait_for_widths(page, "input/digit", "eval", [16])
    button = page.get_by_role("button", name="input/digit, train, step 60")
    button.click()
    page.wait_for_function(ENLARGED, arg=["input/digit, train, step 60", 16])
    page.wait_for_function(
        "() => { const [box] = tb.all('dialog[open] .stage'), [image] = tb.all('dialog[open] img');"
        " return image.clientHeight > 300 && image.clientHeight <= box.clientHeight"
        " && Math.max(image.clientWidth / box.clientWidth, image.clientHeight / box.clientHeight)"
        " > 0.99 && image.classList.contains('enlarged'); }"
    )
    page.get_by_role("slider", name="Step of the enlarged image").wait_for()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(ENLARGED, arg=["input/digit, train, step 70", 17])
    page.keyboard.press("ArrowUp")
    page.wait_for_function(ENLARGED, arg=["input/digit, eval, step 70", 17])
    page.keyboard.press("ArrowRight")  # eval ends at step 70
    page.get_by_text("eval logged nothing at step 80: this is step 70").wait_for()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(ENLARGED, arg=["input/digit, train, step 80", 18])
    page.get_by_role("button", name="1×").click()
    page.wait_for_function("() => tb.all('dialog[open] img')[0].clientWidth === 18")
    page.keyboard.press("Escape")
    page.wait_for_function("() => tb.all('dialog').length === 0")
    assert page.evaluate("() => location.hash.includes('step=60')")
    wait_for_widths(page, "input/digit", "train", [16])
    page.keyboard.press("Enter")  # the focus is on the image again
    page.wait_for_function(ENLARGED, arg=["input/digit, train, step 60", 16])
    page.get_by_role("button", name="Close").click()
    page.wait_for_function("() => tb.all('dialog').length === 0")


def test_all_images_of_a_step_are_enlarged_one_after_the_other(open_page: Any) -> None:
    """From the one that was clicked; the next step begins with the same number."""
    page = open_page("#images&query=batch&tagQuery=re:^batch$")
    wait_for_widths(page, "batch", "batch", list(range(40, 52)))
    page.get_by_role("button", name="batch, batch, step 3, 2 of 15").click()
    page.wait_for_function(ENLARGED, arg=["batch, batch, step 3, 2 of 15", 41])
    page.keyboard.press("PageDown")
    page.wait_for_function(ENLARGED, arg=["batch, batch, step 3, 3 of 15", 42])
    page.keyboard.press("PageUp")
    page.wait_for_function(ENLARGED, arg=["batch, batch, step 3, 2 of 15", 41])
    back = page.get_by_role("button", name="Previous image of the step")
    back.click()
    page.wait_for_function(ENLARGED, arg=["batch, batch, step 3, 1 of 15", 40])
    assert back.is_disabled()
    page.keyboard.press("PageUp")
    for k in range(2, 16):  # also those that the card does not show yet
        page.get_by_role("button", name="Next image of the step").click()
        page.wait_for_function(ENLARGED, arg=[f"batch, batch, step 3, {k} of 15", 39 + k])
    assert page.get_by_role("button", name="Next image of the step").is_disabled()


def test_steps_are_played(open_page: Any) -> None:
    """From the selected one to the last, where the button shows the first one again."""
    page = open_page("#images&query=train&tagQuery=digit&step=220")
    wait_for_widths(page, "input/digit", "train", [32])
    # On a slow machine, an image may load after its step was replaced by the next one.
    page.evaluate(
        """() => {
          globalThis.played = [];
          const slider = tb.all('.tb-toolbar input[type=range]')[0];
          const note = () => played.push(slider.getAttribute('aria-valuetext'));
          new MutationObserver(note).observe(slider, { attributeFilter: ['aria-valuetext'] });
        }"""
    )
    play = page.get_by_role("button", name="Play: Step of all images")
    play.click()
    wait_for_widths(page, "input/digit", "train", [34])
    play.wait_for()
    assert page.evaluate("() => played") == ["step 230, 24 of 25", "step 240, 25 of 25"]
    play.click()
    page.wait_for_function("() => played.includes('step 10, 2 of 25')")
    assert page.evaluate("() => played")[2] == "step 0, 1 of 25"
    page.get_by_role("button", name="Pause: Step of all images").click()
    play.wait_for()


def test_steps_are_side_by_side(open_page: Any) -> None:
    """Up to the selected one, in a row for each run; a link shows the same."""
    page = open_page("#images&query=train|eval&tagQuery=digit")
    wait_for_widths(page, "input/digit", "train", [34])
    page.get_by_label("Steps across").check()
    columns = """(run) => tb.all(`.tb-step-cell[aria-label="${run}"] img`).map(
      (image) => image.naturalWidth).join()"""
    for run, widths in (("train", "10,14,19,24,29,34"), ("eval", "17,17,17,17")):
        page.wait_for_function(
            f"([run, widths]) => ({columns})(run) === widths",
            arg=[run, widths],
        )
    # Eval has nothing yet at the first two steps.
    assert page.get_by_text("Nothing was logged up to step").count() == 2
    tops = "() => tb.all('.tb-step-cell').map((cell) => cell.getBoundingClientRect().top)"
    eval_tops, train_tops = page.evaluate(tops)[:6], page.evaluate(tops)[6:]
    assert len(set(eval_tops)) == len(set(train_tops)) == 1
    assert eval_tops[0] < train_tops[0]
    page.wait_for_function("() => location.hash.includes('images.across=true')")
    page.get_by_role("slider", name="Step of input/digit").press("Home")
    page.wait_for_function(f"() => ({columns})('train') === '10'")


def test_cards_of_many_runs_have_more_images_in_a_row(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Square images fill their cells."""
    for run in range(6):
        write_run(tmp_path, f"run_{run}", images={"x": [picture(64, 64)], "y": [picture(64, 64)]})
    page = profile.open(serve(tmp_path).url, "#images")
    for run in range(6):
        wait_for_widths(page, "x", f"run_{run}", [64])
    boxes = page.evaluate(
        """() => [...tb.card('x').querySelectorAll('.tb-step-cell')].map((cell) => {
          const box = cell.getBoundingClientRect();
          return [box.top, cell.querySelector('img').clientWidth / box.width];
        })"""
    )
    assert len({top for top, _ in boxes[:4]}) == 1
    assert all(share > 0.95 for _, share in boxes)


def test_keys_of_an_enlarged_image_do_not_depend_on_the_focus(open_page: Any) -> None:
    """Nor do they reach its card: a card in full size stays so."""
    page = open_page("#images&query=train|eval&tagQuery=digit&step=60")
    wait_for_widths(page, "input/digit", "train", [16])
    page.get_by_role("button", name="Full size: input/digit").click()
    page.locator(".tb-expanded").wait_for()
    page.get_by_role("button", name="input/digit, train, step 60").click()
    page.wait_for_function(ENLARGED, arg=["input/digit, train, step 60", 16])
    page.locator("dialog img").click()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(ENLARGED, arg=["input/digit, train, step 50", 15])
    up = page.get_by_role("button", name="Previous run")
    up.click()
    page.wait_for_function(ENLARGED, arg=["input/digit, eval, step 50", 15])
    assert up.is_disabled()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(ENLARGED, arg=["input/digit, eval, step 60", 16])
    page.locator("dialog img").click()
    page.keyboard.press("Escape")
    page.wait_for_function("() => tb.all('dialog').length === 0")
    assert page.locator(".tb-expanded").count() == 1
    assert page.evaluate("() => location.hash.includes('step=60')")
    assert "images.at" not in page.evaluate("() => location.hash")


def test_an_enlarged_image_is_swiped_with_a_finger(open_page: Any, profile: Any) -> None:
    """Left and right through the steps, up and down through the runs."""
    page = open_page(
        "#images&query=train|eval&tagQuery=digit&step=60",
        viewport={"width": 400, "height": 800},
    )
    wait_for_widths(page, "input/digit", "train", [16])
    page.get_by_role("button", name="input/digit, train, step 60").click()
    page.get_by_role("slider", name="Step of the enlarged image").wait_for()
    fingers = profile.context.new_cdp_session(page)

    def swipe(*path: tuple[int, int]) -> None:
        for (x, y), kind in zip(path, ("touchStart", "touchMove"), strict=True):
            points = [{"x": x, "y": y}]
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    swipe((300, 400), (100, 410))
    page.wait_for_function(ENLARGED, arg=["input/digit, train, step 70", 17])
    swipe((200, 300), (205, 500))
    page.wait_for_function(ENLARGED, arg=["input/digit, eval, step 70", 17])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_only_images_near_the_view_are_loaded_and_none_are_kept(
    open_page: Any, profile: Any
) -> None:
    """Of the first 48 cards only visible ones hold images; closing the tab drops all."""
    page = open_page("#images&images.size=fit&query=many")
    wait_for_widths(page, "t/000", "many", [10])

    def num_requests(tag: str) -> int:
        return sum(
            "individualImage" in url and f"tag=t%2F{tag}" in url for url in profile.requested_urls
        )

    page.wait_for_function("() => tb.all('.tb-card').length === 48")
    assert num_requests("000") == 1
    assert num_requests("047") == 0
    page.evaluate("() => tb.card('t/047').scrollIntoView()")
    wait_for_widths(page, "t/047", "many", [57])
    page.wait_for_function("() => pictures.images('t/000', 'many').length === 0")
    height = page.evaluate("() => tb.card('t/000').offsetHeight")
    assert height > 150  # the card keeps its height
    page.get_by_role("button", name="more", exact=True).click()
    page.get_by_role("tab", name="Scalars", exact=True).click()
    page.wait_for_function("() => tb.all('img').length === 0")
    assert page.evaluate("() => globalThis.numObjects ?? 0") == 0


def test_new_images_appear_without_a_reload(serve: Any, profile: Any, tmp_path: Path) -> None:
    """A card follows the latest step unless a step is selected."""
    logdir = tmp_path / "live"
    with EventFileWriter(logdir / "run" / "a.tfevents") as writer:
        for step in (0, 1):
            writer.add_image("a", picture(10 + step), step=step)
            writer.add_image("b", picture(20 + step), step=step)
        writer.flush()
        server = serve(logdir)
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
    open_page: Any, serve: Any, profile: Any, tmp_path: Path
) -> None:
    """The logged size is ignored; also animated, upside down, and of one pixel."""
    maker = open_page("#images")
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
    server = serve(tmp_path)
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


def test_scripts_in_images_do_not_run(serve: Any, profile: Any, tmp_path: Path) -> None:
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
    server = serve(tmp_path)
    profile.expects_errors = True  # an empty image has no bytes to send
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


def test_the_slider_has_the_steps_of_cards_out_of_view(open_page: Any, profile: Any) -> None:
    """They come in one request; only cells near the view request their contents, once each."""
    page = open_page("#images&query=many")
    wait_for_widths(page, "t/000", "many", [10])
    everything = page.get_by_role("slider", name="Step of all images")
    assert everything.get_attribute("max") == "59"
    requests = [url for url in profile.requested_urls if "/images/step?" in url]
    assert len(requests) == len(set(requests)) < 48
    assert not any("t%2F047" in url for url in requests)


def test_the_next_step_is_prefetched(open_page: Any, profile: Any) -> None:
    """In the direction of the last move, and only after a first move."""
    page = open_page("#images&query=train&tagQuery=digit&step=100")

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


def test_runs_of_a_group_are_adjacent(open_page: Any) -> None:
    """The tooltip of each cell's run has the name of its group."""
    page = open_page("#images&group=re:-(.*)&query=re:-")
    titles = "() => tb.all('.tb-step-cell > header').map(({ title }) => title)"
    expected = ["a-one\none", "b-one\none", "a-two\ntwo", "b-two\ntwo"]
    until(lambda: page.evaluate(titles) == expected)  # groups come after runs


RED, GREEN, PINK = (255, 0, 0), (0, 255, 0), (255, 0, 128)


def shown_pixel(page: Any, run: str) -> tuple[int, ...]:
    """The colour in the middle of a run's image of the tag `i`, as it is on the screen."""
    page.evaluate("(run) => pictures.cell('i', run).scrollIntoView()", run)
    shot = page.locator(f".tb-step-cell[aria-label='{run}'] .pixels").screenshot()
    data = "data:image/png;base64," + base64.b64encode(shot).decode()
    return tuple(
        page.evaluate(
            """async (data) => {
          const image = Object.assign(new Image(), { src: data });
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext('2d');
          context.drawImage(image, 0, 0);
          const { data: rgba } = context.getImageData(image.width >> 1, image.height >> 1, 1, 1);
          return [...rgba].slice(0, 3);
        }""",
            data,
        )
    )


def test_images_are_compared_with_those_of_another_run(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Pixel by pixel, at the same step; what cannot be compared is said, without a request."""
    logdir = tmp_path / "pictures"
    colors = {"a": RED, "b": PINK, "same": RED, "small": GREEN}
    for run, rgb in colors.items():
        size = (4, 4) if run == "small" else (8, 8)
        write_run(logdir, run, images={"i": [(5, summaries.png(*size, rgb=rgb))]})
    write_run(logdir, "late", images={"i": [(9, summaries.png(8, 8))], "other": [picture(5)]})
    page = profile.open(serve(logdir).url, "#images")
    wait_for_widths(page, "i", "b", [8])
    page.get_by_role("combobox", name="Images").select_option("difference")

    def wait_for_note(run: str, text: str) -> None:
        page.wait_for_function(
            "([run, text]) => pictures.cell('i', run)?.querySelector('.compared-with')"
            "?.textContent === text",
            arg=[run, text],
        )

    wait_for_note("a", "Other runs are compared with this one.")
    wait_for_note("b", "Minus a, step 5.")
    wait_for_note("small", "Minus a, step 5, stretched from 8 × 8 pixels.")
    wait_for_note("late", "Minus a, step 5.")
    page.wait_for_function(
        "() => pictures.cell('other', 'late').textContent.includes('a has no such images.')"
    )
    for run in ("b", "same"):
        wait_for_widths(page, "i", run, [8, 8])
    assert shown_pixel(page, "b") == (0, 0, 128)
    assert shown_pixel(page, "same") == (0, 0, 0)
    page.get_by_role("combobox", name="Images").select_option("overlay")
    wait_for_note("b", "Half of it is a, step 5.")
    assert shown_pixel(page, "b") in [(255, 0, 64), (255, 0, 63)]
    page.get_by_role("combobox", name="Run", exact=True).select_option("late")
    wait_for_note("b", "late logged nothing up to step 5.")
    page.wait_for_function(
        "() => location.hash.includes('images.compared=overlay')"
        " && location.hash.includes('images.run=late')"
    )
    page.reload()
    wait_for_note("a", "late logged nothing up to step 5.")
    page.get_by_role("combobox", name="Images").select_option("")
    page.wait_for_function("() => tb.all('.compared-with').length === 0")
    assert shown_pixel(page, "b") == PINK
