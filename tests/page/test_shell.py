"""The shell in a real browser: runs, tabs, live updates, errors, empty states and themes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until
from drawn_charts import wait_for_curve, wait_for_text

from tbcore_testing import EventFileWriter, Page, write_run

VALUES = [0.9, 0.5, 0.4, 0.35, 0.3, 0.2]
OTHER_VALUES = [value + 0.1 for value in VALUES]
"""Of another line, since of equal lines only the first is seen."""


def write_logs(path: Path) -> Path:
    """Two runs with one tag in common, and one with a tag of its own."""
    write_run(path, "train", scalars={"loss": VALUES, "train/rate": VALUES})
    write_run(path, "eval", scalars={"loss": [value + 0.05 for value in VALUES]})
    return path


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """The runs for a server of one test, which logs more."""
    return write_logs(tmp_path / "logs")


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return serve_for_module(write_logs(tmp_path_factory.mktemp("logs")))


@pytest.fixture(scope="module")
def many_runs(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two thousand runs."""
    logdir = tmp_path_factory.mktemp("many")
    for index in range(2000):
        write_run(logdir, f"group{index % 20}/run{index}", scalars={"loss": [1.0, 0.5]})
    return serve_for_module(logdir)


def wait_for_no_curve(page: Any, tag: str, color: str) -> None:
    """Waits until the chart of a tag shows no pixels of a colour."""
    page.wait_for_function("([tag, color]) => tb.pixels(tag, color) === 0", arg=[tag, color])


def test_runs_are_filtered_and_checked(open_page: Any) -> None:
    """The filter, check boxes and "Only" change curves and address; a link restores the view."""
    page = open_page()
    wait_for_curve(page, "loss", "train")
    wait_for_curve(page, "loss", "eval")
    colors = page.evaluate("() => tb.colors()")

    box = page.get_by_label("Filter runs")
    box.fill("re:^TR")
    wait_for_no_curve(page, "loss", colors["eval"])
    wait_for_curve(page, "loss", "train")
    page.wait_for_function("() => location.hash === '#scalars&query=re:%5ETR'")
    assert page.locator(".tb-run").count() == 1

    position = page.locator(".tb-runs-bar").bounding_box()
    box.fill("re:^TR(")
    wait_for_text(page, "At character 4: unclosed (")
    assert box.get_attribute("aria-invalid") == "true"
    assert page.locator(".tb-runs-bar").bounding_box() == position  # nothing moves
    assert page.locator(".tb-run").count() == 1  # as with the last valid filter
    box.fill("")
    wait_for_curve(page, "loss", "eval")

    page.get_by_role("checkbox", name="train").uncheck()
    wait_for_no_curve(page, "loss", colors["train"])
    page.wait_for_function("() => location.hash === '#scalars&runs=~newest,!train'")
    page.get_by_role("checkbox", name="train").check()
    page.wait_for_function("() => location.hash === '#scalars'")  # as it was
    page.get_by_role("checkbox", name="train").uncheck()
    page.wait_for_function("() => location.hash === '#scalars&runs=~newest,!train'")
    page.locator(".tb-run", has_text="train").hover()
    page.get_by_role("button", name="Only train").click()
    wait_for_no_curve(page, "loss", colors["eval"])
    page.wait_for_function("() => location.hash === '#scalars&runs=train'")

    again = open_page("#scalars&runs=train")
    wait_for_curve(again, "loss", "train")
    assert not again.get_by_role("checkbox", name="eval").is_checked()
    assert again.evaluate("() => tb.colors()") == colors
    again.get_by_role("checkbox", name="All runs").check()
    wait_for_curve(again, "loss", "eval")
    again.get_by_role("checkbox", name="All runs").uncheck()
    wait_for_text(again, "No runs are selected.")


def test_tags_are_filtered(open_page: Any) -> None:
    """The filter changes cards and address, and an empty result is explained."""
    page = open_page()
    wait_for_curve(page, "loss", "train")
    page.get_by_label("Filter tags").fill("re:rate$")
    page.wait_for_function("() => !tb.card('loss') && tb.card('train/rate')")
    page.wait_for_function("() => location.hash === '#scalars&tagQuery=re:rate$'")
    page.get_by_label("Filter tags").fill("nothing like it")
    wait_for_text(page, "No tag of the selected runs matches “nothing like it”.")


def test_modules_that_cannot_be_loaded_cost_only_what_they_are_for(
    open_page: Any, profile: Any
) -> None:
    """Expressions work again once they can be loaded; charts are drawn without their tooltip."""
    page = open_page()
    wait_for_curve(page, "loss", "train")
    profile.expects_errors = True
    missing = ("**/state/query-reader.js*", "**/lib/chart/pointing.js")
    for pattern in missing:
        page.route(pattern, lambda route: route.abort())
    box = page.get_by_label("Filter runs")
    box.fill("re:^TR")
    wait_for_text(page, "a module cannot be loaded")
    assert page.locator(".tb-run").count() == 2
    page.evaluate("() => tb.canvas('loss').scrollIntoView()")
    with page.expect_event("requestfailed"):
        page.locator(".tb-chart").first.hover()
    page.locator(".tb-chart").first.press("ArrowRight")
    assert not page.get_by_role("button", name="Reload this tab").is_visible()

    for pattern in missing:
        page.unroute(pattern)
    box.fill("re:^TRA")
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 1")
    wait_for_curve(page, "loss", "train")


def test_ten_tabs_of_one_server_all_load_and_update(
    serve: Any, new_profile: Any, tmp_path: Path
) -> None:
    """Ten pages share one stream of updates, since a browser opens at most six connections."""
    logdir = tmp_path / "live"
    path = logdir / "train" / "events.out.tfevents.1"
    with EventFileWriter(path) as writer:
        for step in range(5):
            writer.add_scalar("loss", 1.0 - step / 10, step)
    server = serve(logdir)
    profile = new_profile(service_workers="allow")
    pages = [profile.open(server.url) for _ in range(10)]
    for page in pages:
        wait_for_curve(page, "loss", "train")
    with EventFileWriter(path) as writer:
        for step in range(5, 9):
            writer.add_scalar("loss", 1.0 - step / 10, step)
    for page in pages:
        page.wait_for_function("() => tb.label('loss').includes('to 8:')")
        assert page.locator(".chip").inner_text() == "Connected"
    # The others still update after some are closed, including the one that was opened first.
    for page in pages[:5]:
        page.close()
    with EventFileWriter(path) as writer:
        writer.add_scalar("loss", 0.05, 9)
    for page in pages[5:]:
        page.wait_for_function("() => tb.label('loss').includes('to 9:')")


def test_the_page_updates_without_a_shared_worker(
    serve: Any, new_profile: Any, logdir: Path
) -> None:
    """Such a page opens its own event stream, or polls if no stream works."""
    server = serve(logdir)
    profile = new_profile()
    profile.context.add_init_script("delete globalThis.SharedWorker;")
    streaming = profile.open(server.url)
    wait_for_curve(streaming, "loss", "train")
    profile.context.route("**/data/updates", lambda route: route.fulfill(status=204))
    polling = profile.open(server.url)
    wait_for_curve(polling, "loss", "train")
    write_run(logdir, "later", scalars={"loss": [1.0, 0.1]})
    for page in (streaming, polling):
        wait_for_curve(page, "loss", "later")
        page.locator(".chip.good").wait_for()


def test_the_page_reconnects_to_a_restarted_server(serve: Any, profile: Any, logdir: Path) -> None:
    """The page shows that it is disconnected, and new data once the server is running again."""
    server = serve(logdir)
    page = profile.open(server.url)
    wait_for_curve(page, "loss", "train")
    profile.expects_errors = True  # of requests
    server.stop()
    wait_for_text(page, "Disconnected, retrying")
    write_run(logdir, "later", scalars={"loss": [1.0, 0.1]})
    server.start()
    # Reconnect at once, unless the page has already done so.
    page.evaluate("() => document.querySelector('.chip.bad')?.click()")
    wait_for_curve(page, "loss", "later")
    page.locator(".chip.good").wait_for()


def test_a_path_prefix_applies_to_all_requests(serve: Any, profile: Any, logdir: Path) -> None:
    """With `--path_prefix`, the page sends no request outside of the prefix."""
    server = serve(logdir, "--path_prefix", "/my/logs", prefix="/my/logs")
    page = profile.open(server.url)
    wait_for_curve(page, "loss", "train")
    write_run(logdir, "later", scalars={"loss": [1.0, 0.1]})
    wait_for_curve(page, "loss", "later")
    assert [url for url in profile.requested_urls if not url.startswith(f"{server.url}/")] == []


def test_the_theme_follows_the_system_until_the_reader_chooses(open_page: Any) -> None:
    """The chosen theme is kept after a reload, and dropped when it equals the system's theme."""
    grounds = {}
    for scheme in ("light", "dark"):
        page = open_page(color_scheme=scheme)
        wait_for_curve(page, "loss", "train")
        grounds[scheme] = background(page)
    assert brightness(grounds["light"]) > 200
    assert brightness(grounds["dark"]) < 60

    dark_color = page.evaluate("() => tb.colors()['train']")
    page.get_by_role("button", name="Light theme").click()
    page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")
    assert background(page) == grounds["light"]
    assert page.evaluate("() => tb.colors()['train']") != dark_color
    wait_for_curve(page, "loss", "train")
    page.reload()
    wait_for_curve(page, "loss", "train")
    assert background(page) == grounds["light"]
    page.get_by_role("button", name="Dark theme").click()
    page.emulate_media(color_scheme="light")  # follows the system again
    page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")


def background(page: Any) -> str:
    return str(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))


def brightness(color: str) -> float:
    parts = [float(part) for part in re.findall(r"[\d.]+", color)[:3]]
    return sum(parts) / 3


def test_the_page_of_an_empty_logdir_gives_advice_and_updates_by_itself(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """The page says where it searched, what it found, and how to log data."""
    logdir = tmp_path / "runs"
    (logdir / "sub").mkdir(parents=True)
    server = serve(logdir)
    page = profile.open(server.url)
    wait_for_text(page, "No event files yet")
    text = page.locator("main").inner_text()
    looked_for = page.evaluate("async () => (await (await fetch('data/status')).json()).looked_for")
    assert f"match {', '.join(looked_for)}, here and in all" in text
    assert looked_for[0] == "*tfevents*"
    assert str(logdir) in text
    assert re.search(r"Found \d+ director(y|ies), 0 event files", text)
    assert f'SummaryWriter("{logdir}/run1")' in text
    write_run(logdir, "sub/first", scalars={"loss": VALUES})
    wait_for_curve(page, "loss", "sub/first")  # the first tab opens
    page.wait_for_function("() => location.hash.startsWith('#scalars')")


def test_files_of_other_tools_are_named_without_runs_and_beside_them(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """A folder that has only profiles says so, and which tool shows them; the lists do, too."""
    logdir = tmp_path / "runs"
    files = logdir / "plugins" / "profile" / "2026_01_02"
    files.mkdir(parents=True)
    for name in ("host.xplane.pb", "host.trace.json.gz"):
        (files / name).write_bytes(b"x")
    page = profile.open(serve(logdir).url)
    wait_for_text(page, "No event files yet")
    row = page.get_by_role("listitem").filter(has_text="profile").first
    row.get_by_text("2 files").wait_for()
    row.get_by_text("shown by XProf").wait_for()
    row.get_by_text(str(files / "host.trace.json.gz")).wait_for()
    dump = logdir / "tfdbg_events.1700000000.host.metadata"
    dump.write_bytes(b"x")  # the page shows it without a reload
    page.get_by_text(str(dump)).wait_for()

    write_run(logdir, "train", scalars={"loss": VALUES})
    wait_for_curve(page, "loss", "train")
    page.get_by_role("button", name=str(logdir)).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("shown by XProf").wait_for()
    dialog.get_by_role("button", name="Plugin timings, errors and options").click()
    unshown = page.get_by_role("region", name="Data that no installed plugin shows")
    unshown.get_by_text("2 files").wait_for()


def test_the_page_of_a_missing_logdir_waits_for_it(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """The page names the missing directory, and shows its data once it exists."""
    logdir = tmp_path / "not yet"
    server = serve(logdir)
    page = profile.open(server.url)
    wait_for_text(page, "The log directory does not exist yet")
    page.get_by_role("button", name="1 problem").click()
    wait_for_text(page, f"log directory does not exist: {logdir}")
    page.get_by_role("button", name="Close").click()
    write_run(logdir, ".", scalars={"loss": VALUES})
    wait_for_curve(page, "loss", ".")
    # The chip shows what holds now; the dialog lists what is over, with its times.
    page.get_by_role("button", name="Connected").click()
    over = page.get_by_role("list", name="Past problems").get_by_role("listitem")
    times = r"20\d\d-\S+ \S+ to 20\d\d-\S+ \S+"
    assert re.fullmatch(rf"log directory does not exist: {logdir} {times}", over.inner_text())
    assert page.get_by_role("list", name="Problems", exact=True).count() == 0


@pytest.mark.slow
def test_a_hidden_page_lets_the_server_rest(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Its stream ends within 20 s, so an idle server ends; once it is visible, new data shows."""
    write_run(tmp_path, "a", scalars={"loss": VALUES})
    server = serve(tmp_path, "--exit_when_idle", "10")
    page = profile.open(server.url)
    wait_for_curve(page, "loss", "a")

    def set_visibility(state: str) -> None:
        page.evaluate(
            """(value) => {
              Object.defineProperty(document, 'visibilityState', { value, configurable: true });
              document.dispatchEvent(new Event('visibilitychange'));
            }""",
            state,
        )

    set_visibility("hidden")
    assert server.wait_until_ended() == 0
    write_run(tmp_path, "b", scalars={"loss": OTHER_VALUES})
    server.start()
    set_visibility("visible")
    wait_for_curve(page, "loss", "b")


def test_a_log_directory_that_is_gone_keeps_its_charts(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """They are grey below a line that says since when; all is as before when it comes back."""
    logdir = tmp_path / "logs"
    write_run(logdir, "a", scalars={"loss": VALUES})
    server = serve(logdir)
    page = profile.open(server.url)
    wait_for_curve(page, "loss", "a")
    filter_of = "() => getComputedStyle(document.querySelector('#content')).filter"
    assert page.evaluate(filter_of) == "none"
    profile.expects_errors = True  # a request for the run may be on its way
    logdir.rename(tmp_path / "elsewhere")
    note = page.get_by_text("The log directory is gone, last seen ")
    note.wait_for()
    assert re.search(r"last seen \d\d:\d\d:\d\d with 1 run\.", note.inner_text())
    assert page.evaluate(filter_of) == "grayscale(0.7)"
    page.get_by_role("button", name="Reload", exact=True).click()
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some(({ name }) => /scan=true/.test(name))"
    )
    page.evaluate("() => tb.frame()")
    wait_for_curve(page, "loss", "a")
    assert page.locator(".tb-run").count() == 1

    (tmp_path / "elsewhere").rename(logdir)
    note.wait_for(state="detached")
    write_run(logdir, "b", scalars={"loss": OTHER_VALUES})
    wait_for_curve(page, "loss", "b")
    assert page.evaluate(filter_of) == "none"
    for run in ("a", "b"):
        shutil.rmtree(logdir / run)
    page.get_by_text("All event files are gone, last seen ").wait_for()
    page.reload()  # this page has not seen them
    wait_for_text(page, "No event files yet")


def test_reload_also_looks_for_new_data_if_a_status_is_on_its_way(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """The status that was requested before the click does not count for it."""
    write_run(tmp_path, "a", scalars={"loss": VALUES})
    page = profile.open(serve(tmp_path).url)
    wait_for_curve(page, "loss", "a")
    held: list[Any] = []
    page.route("**/data/status?*", lambda route: held.append(route), times=1)
    write_run(tmp_path, "b", scalars={"loss": OTHER_VALUES})
    for _ in range(int(WAIT_SECONDS / 0.05)):
        if held:
            break
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Reload", exact=True).click()
    with page.expect_response("**/data/status?*scan=true"):
        held[0].continue_()


def test_runs_that_go_between_two_requests_stay(serve: Any, profile: Any, tmp_path: Path) -> None:
    """The status still had them, the list of runs that was requested next does not."""
    write_run(tmp_path / "logs", "a", scalars={"loss": VALUES})
    page = profile.open(serve(tmp_path / "logs").url)
    wait_for_curve(page, "loss", "a")
    page.route("**/data/runs", lambda route: route.fulfill(json=[]), times=1)
    page.evaluate(
        """() => {
          globalThis.emptied = false;
          const list = document.querySelector('.tb-run').closest('aside');
          new MutationObserver(() => (emptied ||= !document.querySelector('.tb-run')))
            .observe(list, {childList: true, subtree: true});
        }"""
    )
    write_run(tmp_path / "logs", "b", scalars={"loss": OTHER_VALUES})
    wait_for_curve(page, "loss", "b")
    assert not page.evaluate("() => emptied")


def test_the_first_tab_stop_skips_to_the_charts(serve: Any, profile: Any, tmp_path: Path) -> None:
    """It is out of sight without the focus; a tab without cards is focused itself."""
    write_run(tmp_path / "logs", "a", scalars={"loss": VALUES})
    page = profile.open(serve(tmp_path / "logs").url)
    wait_for_curve(page, "loss", "a")
    button = page.get_by_role("button", name="Skip to charts")
    assert button.bounding_box()["y"] < -20
    page.keyboard.press("Tab")
    assert button.evaluate("(button) => button === document.activeElement")
    assert button.bounding_box()["y"] > 0
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.activeElement.shadowRoot?.activeElement?.closest('.tb-card')"
        " === tb.card('loss')"
    )
    page.get_by_role("button", name="more", exact=True).click()
    page.get_by_role("tab", name="Images").click()
    wait_for_text(page, "Images: nothing to show")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'content'")


WITHOUT_INSTALLED_PLUGINS = (
    "import tbcore.plugins.sources as sources; sources.PLUGINS = 'tbcore.none'; "
    "from tbcore.cli import main; main()"
)
"""Runs tbcore as if no plugin were installed."""


def test_without_plugins_the_page_says_how_to_install_them(
    serve: Any, profile: Any, logdir: Path, tmp_path: Path
) -> None:
    """The command installs the plugins that the data needs, or all of them if there is no data."""
    for path, num_runs, command in (
        (tmp_path / "nothing", 0, 'pip install "tbcore-server[all]"'),
        (logdir, 2, "pip install tbcore-scalars"),
    ):
        page = profile.open(serve(path, program=WITHOUT_INSTALLED_PLUGINS).url)
        wait_for_text(page, "No plugins are installed")
        wait_for_text(page, command)
        assert page.locator(".tb-run").count() == num_runs
    wait_for_text(page, "2 tags in 2 runs")  # the page also lists the data in the runs


def test_data_that_no_plugin_shows_is_listed(serve: Any, profile: Any, tmp_path: Path) -> None:
    """The page names the plugin to install, whether or not it has other data to show."""
    logdir = tmp_path / "runs"
    write_run(logdir, "train", histograms={"weights": [[1.0, 2.0], [2.0, 3.0]]})
    scalars = Path(__file__).resolve().parents[2] / "plugins" / "scalars" / "tbcore_scalars"
    server = serve(logdir, "--plugins_dir", str(scalars), program=WITHOUT_INSTALLED_PLUGINS)
    page = profile.open(server.url)
    wait_for_text(page, "No installed plugin shows the data in these runs")
    wait_for_text(page, "pip install tbcore-histograms")
    assert (
        page.get_by_role("tab", name="Scalars", exact=True).get_attribute("aria-selected")
        == "false"
    )

    write_run(logdir, "train", scalars={"loss": VALUES})
    wait_for_curve(page, "loss", "train")
    page.get_by_role("button", name="1 tag that no installed plugin shows").click()
    wait_for_text(page, "pip install tbcore-histograms")
    wait_for_text(page, "1 tag in 1 run")
    page.get_by_role("button", name="Plugin timings, errors and options").click()
    unshown = page.get_by_role("region", name="Data that no installed plugin shows")
    unshown.get_by_text("pip install tbcore-histograms").wait_for()


def test_a_tab_from_a_link_stays_open_although_it_has_no_data(
    serve: Any, profile: Any, tmp_path: Path, install_plugin: Callable[..., Path]
) -> None:
    """The hash chooses the tab, as in links to TensorBoard; other tabs do not replace it later."""
    logdir = tmp_path / "runs"
    write_run(logdir, "train", histograms={"weights": [[1.0, 2.0]]})
    fine = "export default { render(host) { host.element.textContent = 'fine'; } };"
    server = serve(logdir, python_path=[install_plugin("fine", fine)])
    page = profile.open(server.url, "#scalars")
    wait_for_text(page, "Scalars: nothing to show")
    write_run(logdir, "train", scalars={"loss": VALUES})
    wait_for_curve(page, "loss", "train")
    # Keys go through the tabs with data, and through all once the others are shown.
    page.get_by_role("tab", name="Scalars", exact=True).press("ArrowLeft")
    wait_for_text(page, "fine")
    page.wait_for_function("() => location.hash.startsWith('#fine')")
    assert page.get_by_role("tab", name="Audio").count() == 0
    more = page.get_by_role("button", name="more", exact=True)
    more.focus()
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="fine").press("End")
    wait_for_text(page, "nothing to show")
    page.get_by_role("button", name="less", exact=True).click()
    assert page.get_by_role("tab", selected=True).inner_text() != "fine"  # an open one stays
    page.go_back()
    page.go_back()
    wait_for_curve(page, "loss", "train")


def test_names_from_the_log_are_text(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Runs and tags that look like HTML, URLs or patterns are shown under their own names."""
    logdir = tmp_path / "runs"
    tag = '"><img src=x onerror=alert(1)>&amp;'
    names = ["<b>bold", "a b&c=d#e?f%20+", "ünï/код", "(unclosed", "~,!"]
    for index, name in enumerate(names):
        write_run(logdir, name, scalars={tag: [value + index for value in VALUES]})
    server = serve(logdir)
    page = profile.open(server.url)
    for name in names:
        wait_for_curve(page, tag, name)
        Page(page).run(name).hover()
        page.get_by_role("button", name=f"Only {name}", exact=True).click()
        page.wait_for_function("(tag) => tb.label(tag).split(': ').length === 2", arg=tag)
        hash = page.evaluate("() => location.hash")
        page.get_by_role("checkbox", name="All runs").check()
        assert page.locator("img[src=x]").count() == 0
        assert "\n" not in hash


def test_the_run_list_is_fast_with_two_thousand_runs(many_runs: Any, profile: Any) -> None:
    """Only visible rows are rendered, and the newest 100 runs are shown until runs are checked."""
    page = profile.open(many_runs.url)
    wait_for_text(page, "100 of 2,000")
    wait_for_text(page, "The newest 100 of 2,000 runs are selected.")
    assert page.locator(".tb-run").count() < 80
    session = profile.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def processor_seconds() -> float:
        """The processor time of the page's main thread, which other programs do not affect."""
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")

    before = processor_seconds()
    page.get_by_label("Filter runs").fill(r"re:run19\d\d$")
    wait_for_text(page, "(of 2,000)")
    page.evaluate("() => tb.frame()")
    assert 0 < processor_seconds() - before < 1
    page.locator(".tb-run input").first.focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "() => document.activeElement.closest('.tb-run')?.title === 'group19/run1999'"
    )
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.endsWith('runs=group19/run1999')")


def test_runs_are_checked_among_two_thousand(
    many_runs: Any, profile: Any, new_profile: Any
) -> None:
    """The address has the shorter list, of shown or hidden runs; the browser stores a long one."""
    page = profile.open(many_runs.url, "#scalars&runs=!")
    wait_for_text(page, "2,000 of 2,000")
    box = page.get_by_label("Filter runs")

    page.get_by_role("button", name="Group…").click()
    page.get_by_role("button", name="Average over trailing numbers").click()
    page.get_by_label("Rule").fill("*/{}")
    wait_for_text(page, "and 16 more groups")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Close").click()

    box.fill("re:run[1-9]")
    page.get_by_role("checkbox", name="All matching").uncheck()
    box.fill("")
    page.wait_for_function("() => location.hash === '#scalars&runs=group0/run0'")

    page.get_by_role("checkbox", name="All runs").click()  # some are checked: unchecks all
    page.get_by_role("checkbox", name="All runs").check()
    box.fill("re:[02468]$")
    page.get_by_role("checkbox", name="All matching").uncheck()
    box.fill("")
    wait_for_text(page, "Too many runs are selected to fit into a link.")
    page.wait_for_function("() => location.hash.startsWith('#scalars&runs=~kept.')")
    assert len(page.evaluate("() => location.hash")) < 50
    page.reload()
    wait_for_text(page, "1,000 of 2,000")
    other = new_profile().open(many_runs.url, page.evaluate("() => location.hash"))
    wait_for_text(other, "is not stored in this browser")
    wait_for_text(other, "100 of 2,000")


def test_the_tab_in_the_documentation_works(
    serve: Any, profile: Any, logdir: Path, install_plugin: Callable[..., Path]
) -> None:
    """The example of a whole tab in docs/front_end.md shows, filters and folds tags."""
    page_of_docs = Path(__file__).resolve().parents[2] / "docs" / "front_end.md"
    blocks = re.compile(r"^```js file=\S+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    examples = blocks.findall(page_of_docs.read_text())
    [module] = [text for text in examples if "<${TagGroups}" in text]
    folder = install_plugin("example", module)
    with (folder / "tbcore_example" / "__init__.py").open("a") as source:
        source.write("""
from starlette.routing import Route
from tbcore import Claim
from tbcore.http import json_response

@hookimpl
def routes(multiplexer):
    tags = lambda request: json_response(multiplexer.tags([Claim(is_scalar=True)]))
    return [Route("/tags", tags)]
""")
    server = serve(logdir, python_path=[folder])
    page = profile.open(server.url, "#example")
    page.wait_for_function("() => tb.card('loss')?.innerText.includes('eval')")
    page.wait_for_function("() => tb.card('train/rate') && tb.all('.tb-group').length === 2")

    page.get_by_role("checkbox", name="eval").uncheck()
    page.wait_for_function("() => !tb.card('loss').innerText.includes('eval')")
    page.get_by_role("button", name="(no prefix)").click()
    page.wait_for_function("() => !tb.card('loss')")
    page.get_by_role("button", name="Expand all").click()
    page.wait_for_function("() => tb.card('loss')")
    page.get_by_label("Filter tags").fill("rate")
    page.wait_for_function("() => !tb.card('loss') && tb.card('train/rate')")
    assert page.evaluate("() => location.hash").startswith("#example")


@pytest.mark.parametrize("height", [900, 1440])
def test_the_layout_is_stable_while_the_page_loads(
    serve: Any, profile: Any, tmp_path: Path, height: int
) -> None:
    """Bars and outlines of cards appear before the data. They do not move if two rows are full."""
    write_run(tmp_path, "train", scalars={f"loss/{part}": [1.0, 0.5] for part in "abcdefg"})
    server = serve(tmp_path)
    page = profile.context.new_page()
    page.set_viewport_size({"width": 1400, "height": height})
    requests: list[Any] = []
    for path in ("runs", "plugin/scalars/tags\\?*"):
        # A lambda, since Playwright sets an attribute on handlers and list.append cannot have one.
        page.route(f"**/data/{path}", lambda route: requests.append(route))

    def forward_next_request() -> None:
        """Waits until the page has sent one of these requests, and forwards it to the server."""
        for _ in range(int(WAIT_SECONDS / 0.05)):
            if requests:
                return requests.pop(0).continue_()
            page.wait_for_timeout(50)
        raise AssertionError("the page sent no request")

    page.goto(server.url)
    positions = """() => ['.top-bar', 'aside', 'main'].map(
      (name) => JSON.stringify(document.querySelector(name).getBoundingClientRect()))"""
    before = page.evaluate(positions)
    outline = page.locator(".opening .tb-card").first
    outline.wait_for(state="visible")
    page.wait_for_function("() => document.querySelector('[aria-label=Connecting]')")
    forward_next_request()
    page.get_by_role("status", name="Opening Scalars").wait_for()
    assert outline.is_visible()
    box = outline.bounding_box()
    forward_next_request()
    wait_for_curve(page, "loss/a", "train")
    assert page.locator(".opening").count() == 0
    assert page.evaluate(positions) == before
    card = page.locator(".tb-card").first.bounding_box()
    assert [card[side] for side in ("x", "width")] == [box[side] for side in ("x", "width")]
    assert abs(card["y"] - box["y"]) < 8
    assert abs(card["height"] - box["height"]) < 8
    profile.check(server.url)


def test_the_outlines_yield_to_what_a_tab_draws_first(
    serve: Any, profile: Any, tmp_path: Path, install_plugin: Any
) -> None:
    """Although `render` still waits; they stay while a tab has drawn nothing, whatever the last one
    removes when it is closed."""
    drawing = """export default {
      async render(host) {
        host.element.append("drawn");
        host.signal.addEventListener("abort", () => host.element.replaceChildren());
        await new Promise(() => {});
      },
    };"""
    waiting = """export default {
      async render(host) {
        await new Promise((done) => { globalThis.draw = done; });
        host.element.append("late");
      },
    };"""
    path = [install_plugin("drawing", drawing), install_plugin("waiting", waiting, order=6)]
    write_run(tmp_path / "logs", "train", scalars={"loss": [0.5]})
    plugins = ["drawing", "waiting"]
    page = profile.open(serve(tmp_path / "logs", plugins=plugins, python_path=path).url)

    page.get_by_text("drawn").wait_for()
    page.wait_for_function("() => !document.querySelector('.opening')")
    page.get_by_role("tab", name="Waiting").click()
    page.wait_for_function("() => globalThis.draw")
    page.evaluate("() => tb.frame()")
    assert page.locator(".opening[aria-label='Opening Waiting']").count() == 1
    page.evaluate("() => draw()")
    page.locator(".plugin", has_text="late").wait_for()
    page.wait_for_function("() => !document.querySelector('.opening')")


def test_the_link_to_a_view_is_copied(open_page: Any, server: Any, profile: Any) -> None:
    """The button copies the address of the view, says where it works, and confirms it."""
    profile.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page()
    wait_for_curve(page, "loss", "train")
    page.get_by_label("Filter tags").fill("loss")
    button = page.get_by_role("button", name="Copy link")
    assert (button.get_attribute("title") or "").endswith(", for this machine only")
    loaded = "performance.getEntriesByType('resource').some(({name}) => /picture[.]js$/.test(name))"
    assert not page.evaluate(loaded)
    button.hover()
    page.wait_for_function(f"() => {loaded}")
    button.click()
    page.get_by_role("button", name="Link copied").wait_for()
    expected = f"{server.url}/#scalars&sort=name&tagQuery=loss"
    assert page.evaluate("() => navigator.clipboard.readText()") == expected
    page.get_by_role("button", name="Copy link").wait_for()
    # With the colours that the reader has chosen, and the order of the list.
    page.locator('[role="row"][title="train"]').click(button="right")
    page.get_by_label("Colour").fill("#123456")
    page.keyboard.press("Escape")
    button.click()
    page.get_by_role("button", name="Link copied").wait_for()
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert text == f"{server.url}/#scalars&colors=train,123456&sort=name&tagQuery=loss"


def test_a_menu_stays_on_the_page(open_page: Any) -> None:
    """A menu near the lower edge fits on the page even if its content is loaded after it opened."""
    page = open_page("#scalars&tagQuery=loss", viewport={"width": 400, "height": 600})
    wait_for_curve(page, "loss", "train")
    page.get_by_role("button", name="More options for loss").click()
    page.get_by_role("button", name="CSV", exact=True).wait_for()
    page.wait_for_function(
        """() => {
          const { left, right, top, bottom } =
            tb.all('.tb-menu:popover-open')[0].getBoundingClientRect();
          return left >= 0 && right <= 400 && top >= 0 && bottom <= 600;
        }"""
    )


def test_the_wheel_at_the_end_of_a_menu_does_not_scroll_the_page(open_page: Any) -> None:
    """Its own content scrolls; what is below the menu stays where it is."""
    page = open_page("#scalars", viewport={"width": 400, "height": 260})
    wait_for_curve(page, "loss", "train")
    page.get_by_role("button", name="More options for loss").click()
    page.get_by_role("button", name="CSV", exact=True).wait_for()
    place = """() => {
      globalThis.scrolled = 0;
      const count = ({ target }) => { scrolled += !target.matches?.('.tb-menu'); };
      addEventListener('scroll', count, true);
      const [menu] = tb.all('.tb-menu:popover-open');
      menu.scrollTop = 1e6;
      const { left, top } = menu.getBoundingClientRect();
      return [menu.scrollTop, left + 40, top + 40];
    }"""
    end, left, top = page.evaluate(place)
    assert end > 0
    page.mouse.move(left, top)
    for _ in range(3):
        page.mouse.wheel(0, 200)
        page.evaluate("() => new Promise((next) => requestAnimationFrame(() => setTimeout(next)))")
    page.mouse.wheel(0, -20)
    page.wait_for_function(f"() => tb.all('.tb-menu:popover-open')[0].scrollTop < {end}")
    assert page.evaluate("() => scrolled") == 0


def test_a_narrow_page_has_a_run_list_that_slides_in(open_page: Any) -> None:
    """A page of 400 pixels does not scroll horizontally."""
    page = open_page(viewport={"width": 400, "height": 800})
    page.wait_for_function("() => tb.canvas('loss')")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert not page.get_by_label("Filter runs").is_visible()
    page.get_by_role("button", name="Runs").click()
    page.get_by_label("Filter runs").wait_for(state="visible")
    wait_for_curve(page, "loss", "train")
    page.keyboard.press("Escape")
    page.get_by_label("Filter runs").wait_for(state="hidden")
    page.wait_for_function("() => document.activeElement.ariaLabel === 'Runs'")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("r")
    page.get_by_label("Filter runs").wait_for(state="visible")
    page.mouse.click(390, 400)  # beside the list
    page.wait_for_function("() => document.activeElement.ariaLabel === 'Runs'")


def test_a_tab_is_loaded_while_runs_are_found(serve: Any, profile: Any, tmp_path: Path) -> None:
    """In a large directory that takes seconds, in which the browser has nothing else to do."""
    gate = tmp_path / "gate"
    gate.touch()
    write_run(tmp_path / "logs", "train", scalars={"loss": VALUES})
    program = f"""
import os, time
from tbcore.eventfiles import logdir
scan = logdir.Logdir.scan
def scan_later(self):
    while not os.path.exists({str(gate)!r}):
        time.sleep(0.01)
    return scan(self)
logdir.Logdir.scan = scan_later
from tbcore.cli import main
main()
"""
    server = serve(tmp_path / "logs", program=program)
    server.stop()
    gate.unlink()
    with ThreadPoolExecutor() as pool:
        started = pool.submit(server.start)
        try:
            until(lambda: server.log.read_text().count("tbcore ") == 2)
            page = profile.open(server.url)
            page.get_by_role("heading", name="Reading event files").wait_for()
            page.wait_for_function(
                """() => performance.getEntriesByType('resource').some(
                  ({ name }) => name.endsWith('/scalars/index.js'))"""
            )
            assert page.evaluate("() => document.querySelector('.plugin')") is None
        finally:
            gate.touch()
        started.result()
    page.wait_for_function("() => tb.label('loss').includes('from 0 to')")
