"""The text tab in a real browser, on real event files and a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

HELPERS = """
globalThis.texts = {
  cell: (tag, run) => tb.card(tag)?.querySelector(`.tb-step-cell[aria-label="${run}"]`),
  body: (tag, run) => texts.cell(tag, run)?.querySelector('.text-body'),
  text: (tag, run) => texts.body(tag, run)?.innerText ?? '',
};
"""

REPORT = """## Epoch {epoch}

Loss is *{loss}*.
See [the run](https://example.org/runs/{epoch}).

| a | b |
| - | -: |
| 1 | {epoch} |
"""

HOSTILE = """<script>globalThis.hacked = 1</script>
<img src="https://example.org/a.png" onerror="globalThis.hacked = 2">

![picture](https://example.org/b.png) [link](javascript:globalThis.hacked=3)

<iframe src="https://example.org"></iframe> <style>* { display: none }</style>

<b onclick="globalThis.hacked=4" style="background: url(https://example.org/c.png)">bold</b>

<a href="javascript:globalThis.hacked=5">raw</a> <svg onload="globalThis.hacked=6"></svg> <unk>
"""

LONG = "\n".join(f"line {i} of a long text" for i in range(9000))
"""Longer than what the server sends at first."""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    reports = [(10 * i, REPORT.format(epoch=i, loss=1 / i)) for i in range(1, 5)]
    table = [["name", "<i>x</i>"], ["rate", "**1e-3**"]]
    write_run(
        logdir, "train",
        texts={"report": reports, "hostile": [HOSTILE], "long": [LONG], "table": [table]},
    )  # fmt: skip
    write_run(logdir, "eval", texts={"report": [(15, "only *one*")]})
    write_run(logdir, "plain", scalars={"loss": [0.5]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def wait_for_text(page: Any, tag: str, run: str, part: str) -> None:
    """Waits until a cell shows a text."""
    page.wait_for_function(
        "([tag, run, part]) => texts.text(tag, run).includes(part)", arg=[tag, run, part]
    )


def test_markdown_is_rendered_and_no_script_of_a_log_runs(open_page: Any) -> None:
    """Nothing is loaded either: the check sees all requests, and what the page's policy blocked."""
    page = open_page("#text")
    wait_for_text(page, "report", "train", "Epoch 4")
    wait_for_text(page, "report", "eval", "only one")
    drawn = page.evaluate(
        "() => [...texts.body('report', 'train').querySelectorAll('h2, em, a, th, td')]"
        ".map((one) => `${one.localName} ${one.textContent}`)"
    )
    assert drawn == [
        "h2 Epoch 4", "em 0.25", "a the run", "th a", "th b", "td 1", "td 4",
    ]  # fmt: skip
    assert page.evaluate("() => tb.all('.text-body a')[0].rel") == "noopener noreferrer"
    wait_for_text(page, "table", "train", "1e-3")
    assert page.evaluate("() => texts.body('table', 'train').querySelectorAll('td').length") == 4

    wait_for_text(page, "hostile", "train", "<unk>")
    shown = page.evaluate("() => texts.text('hostile', 'train')")
    assert "<script>globalThis.hacked = 1</script>" in shown
    assert "image: picture" in shown
    page.get_by_text("bold", exact=True).click()
    page.get_by_text("raw", exact=True).click()
    names = page.evaluate(
        "() => [...texts.body('hostile', 'train').querySelectorAll('*')].flatMap("
        "(one) => [one.localName, ...one.getAttributeNames()])"
    )
    assert set(names) <= {"div", "class", "p", "b", "a", "href", "title", "target", "rel"}
    links = page.evaluate(
        "() => [...texts.body('hostile', 'train').querySelectorAll('[href]')].map((a) => a.href)"
    )
    assert links == ["https://example.org/b.png"]
    assert page.evaluate("() => globalThis.hacked") is None


def test_changes_are_shown_by_line_and_word(open_page: Any) -> None:
    """Since the previous step, the first, or any; the choice is in the address."""
    page = open_page("#text&query=train")
    wait_for_text(page, "report", "train", "Epoch 4")
    page.keyboard.press("d")
    wait_for_text(page, "report", "train", "Changes since step 30")
    changed = page.evaluate(
        "() => [...texts.body('report', 'train').querySelectorAll('del, ins')].map((line) =>"
        " `${line.localName} ${[...line.querySelectorAll('mark')].map((m) => m.textContent)}`)"
    )
    assert changed == [
        "del 3", "ins 4", "del 0.3333333333333333", "del 3", "ins 0.25", "ins 4", "del 3", "ins 4",
    ]  # fmt: skip
    page.get_by_label("Compared with").select_option("first")
    wait_for_text(page, "report", "train", "Changes since step 10")
    page.get_by_label("Compared with").select_option("step")
    page.get_by_label("Step to compare with").fill("25")
    page.keyboard.press("Tab")
    wait_for_text(page, "report", "train", "Changes since step 20")
    page.get_by_role("slider", name="Step of report").press("Home")
    wait_for_text(page, "report", "train", "Changes since step 20")
    page.get_by_label("Compared with").select_option("before")
    wait_for_text(page, "report", "train", "This is the first step")
    page.wait_for_function("() => location.hash.includes('text.show=changes')")
    page.wait_for_function("() => location.hash.includes('text.at=report:10')")
    page.keyboard.press("d")
    wait_for_text(page, "report", "train", "Epoch 1")


def test_texts_are_compared_with_those_of_another_run(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """At the same step; the run is in the address. Nothing is requested that was not logged."""
    logdir = tmp_path / "configs"
    config = "model: {}\nlr: {}\nseed: 0"
    write_run(logdir, "a", texts={"config": [config.format("vit", 1)], "late": [(9, "x")]})
    write_run(logdir, "b", texts={"config": [config.format("vit", 2)], "late": [(5, "x")]})
    write_run(logdir, "c", texts={"config": [config.format("vit", 1)], "only c": ["y"]})
    page = profile.open(serve(logdir).url, "#text")
    wait_for_text(page, "config", "a", "vit")
    page.keyboard.press("d")
    wait_for_text(page, "config", "b", "This is the first step")
    page.get_by_label("Compared with").select_option("run")
    wait_for_text(page, "config", "b", "Changes from a, step 0:")
    wait_for_text(page, "config", "a", "Other runs are compared with this one.")
    wait_for_text(page, "config", "c", "No changes from a, step 0.")
    wait_for_text(page, "late", "b", "a logged nothing at or before step 5.")
    wait_for_text(page, "only c", "c", "a has no such text to compare it with.")
    changed = page.evaluate(
        "() => [...texts.body('config', 'b').querySelectorAll('del, ins')]"
        ".map((line) => line.textContent.trim())"
    )
    assert changed == ["− lr: 1", "+ lr: 2"]
    page.get_by_role("combobox", name="Run", exact=True).select_option("b")
    wait_for_text(page, "config", "a", "Changes from b, step 0:")
    wait_for_text(page, "late", "a", "No changes from b, step 5.")
    page.wait_for_function("() => location.hash.includes('text.run=b')")
    page.reload()
    wait_for_text(page, "config", "c", "Changes from b, step 0:")


def test_the_search_finds_texts_of_all_steps(open_page: Any) -> None:
    """A click on a match shows its step, with the match highlighted."""
    page = open_page("#text")
    wait_for_text(page, "report", "train", "Epoch 4")
    page.keyboard.press("s")
    page.keyboard.type("EPOCH 2")
    found = page.get_by_role("region", name="Search results")
    found.get_by_role("button").click()
    wait_for_text(page, "report", "train", "Epoch 2")
    page.wait_for_function("() => location.hash.includes('text.at=report:20')")
    page.wait_for_function("() => CSS.highlights.get('tbcore-text').size === 1")
    page.get_by_label("Search texts").fill("such words nobody wrote")
    found.get_by_text("No matches").wait_for()
    page.get_by_label("Search texts").fill("")
    found.wait_for(state="detached")
    page.wait_for_function("() => CSS.highlights.get('tbcore-text').size === 0")


def test_long_texts_are_folded_and_can_be_loaded_whole(open_page: Any) -> None:
    """A narrow page stays narrow; the source can be shown and copied."""
    page = open_page("#text")
    page.set_viewport_size({"width": 400, "height": 800})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wait_for_text(page, "long", "train", "line 0 of")
    height = "() => texts.body('long', 'train').clientHeight"
    assert page.evaluate(height) < 500
    card = page.get_by_role("article", name="long")
    card.get_by_role("button", name="Show all").click()
    page.wait_for_function(f"() => ({height})() > 5000")
    assert "line 8999" not in page.evaluate("() => texts.text('long', 'train')")
    card.get_by_role("button", name="Load all").click()
    wait_for_text(page, "long", "train", "line 8999")
    card.get_by_role("button", name="Show less").click()
    page.wait_for_function(f"() => ({height})() < 500")

    page.get_by_text("Source", exact=True).click()
    wait_for_text(page, "report", "train", "Loss is *0.25*")
    page.get_by_role("button", name="Copy: report, train").click()
    page.get_by_text("Copied").wait_for()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == REPORT.format(epoch=4, loss=0.25)
    page.wait_for_function("() => document.documentElement.scrollWidth <= 400")


def test_titles_leave_out_what_writers_add_to_tags(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Unless a tag without it exists, too; a card's tooltip and the address have the whole tag."""
    tags = ("config/text_summary", "note", "note/text_summary", "long/name/text_summary")
    write_run(tmp_path / "logs", "run", texts={tag: [(1, tag), (2, tag)] for tag in tags})
    server = serve(tmp_path / "logs")
    page = profile.open(server.url, "#text")
    titles = "() => tb.all('.tb-card h3').map((title) => [title.innerText, title.title].join(': '))"

    def wait_for_titles(*titled: str) -> None:
        page.wait_for_function(f"(all) => String(({titles})()) === all", arg=",".join(titled))

    wait_for_titles(
        "config: config/text_summary",
        "long/name: long/name/text_summary",
        "note: note",
        "note/text_summary: note/text_summary",
    )
    wait_for_text(page, "config/text_summary", "run", "config")
    page.get_by_role("slider", name="Step of config/text_summary").press("Home")
    page.wait_for_function(
        "() => decodeURIComponent(location.hash).includes('text.at=config/text_summary:1')"
    )
    for query in ("re:^config$", "config/text_summary", "config"):
        page.get_by_label("Filter tags").fill(query)
        wait_for_titles("config: config/text_summary")
    page.get_by_label("Filter tags").fill("-text_summary")
    wait_for_titles("note: note")
