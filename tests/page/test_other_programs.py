"""Logs of other programs in a real browser: of Trainer, Lightning, Keras and Ultralytics."""

from __future__ import annotations

import json
import lzma
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

pytest.importorskip("tbcore_formats")
SAMPLES = Path(__file__).resolve().parents[2] / "extensions" / "formats" / "tests" / "samples"
FOLDERS = {
    "hf-trainer": (".", "trainer_state.json", "train/loss", "num_train_epochs", "train_batch_size"),
    "lightning-2.6": (
        "lightning_logs/version_2", "metrics.csv", "train_loss_step", "opt/amsgrad", "opt/betas",
    ),
    "keras-csv": (".", "training.log", "val_loss"),
    "ultralytics": ("exp", "results.csv", "train/box_loss", "model", "lr0"),
}  # fmt: skip
"""Maps folders of samples to a run, its file, a tag, and some of its hyperparameters."""
AXES = "[...document.querySelector('.plugin').shadowRoot.querySelectorAll('[name=x]')]"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_shows_what_users_look_for_first(
    serve: Callable[..., Any], profile: Any, tmp_path: Path, folder: str
) -> None:
    """Curves, the file that a run is from, its hyperparameters, and what is logged then."""
    run, file, tag, *hparams = FOLDERS[folder]
    logdir = tmp_path / "logs"
    shutil.copytree(SAMPLES / folder, logdir)
    server = serve(logdir)
    page = profile.open(server.url, f"#scalars&tagQuery=re:^{tag}$")
    page.wait_for_function("(tag) => tb.label(tag).includes(' by step from ')", arg=tag)
    color = page.evaluate("(run) => tb.colors()[run]", run)
    page.wait_for_function("([tag, color]) => tb.pixels(tag, color) > 20", arg=[tag, color])
    row = page.locator(f'.tb-run[title="{run}"]')
    path = file if run == "." else f"{run}/{file}"
    row.hover()
    for part in (row.locator(".tb-age[title]"), row.locator("label[title]")):
        assert f"From {path}, which has no times of its own." in part.get_attribute("title")
    assert "First event" not in row.locator(".tb-age").get_attribute("title")
    assert row.get_by_role("img", name="live").count() == 0
    if folder != "lightning-2.6":  # It has event files, too.
        page.wait_for_function(f"() => {AXES}.length === 1")
    if hparams:
        page.evaluate("() => (location.hash = '#hparams')")
        for name in hparams:
            page.get_by_role("columnheader", name=name).first.wait_for()

    path = logdir / ("" if run == "." else run) / file
    if file.endswith(".json"):
        state = json.loads(path.read_text())
        state["log_history"].append({"step": 4_321, "loss": 0.5})
        path.write_text(json.dumps(state))
    else:
        header, *_, last = path.read_text().splitlines()
        cells = last.replace(";", ",").split(",")
        names = [name.strip() for name in header.replace(";", ",").split(",")]
        for name in ("step", "epoch", tag):
            if name in names:
                cells[names.index(name)] = "4321"
        with path.open("a") as stream:
            stream.write((";" if ";" in header else ",").join(cells) + "\n")
    page.evaluate("(tag) => (location.hash = `#scalars&tagQuery=re:^${tag}$`)", tag)
    page.wait_for_function("(tag) => tb.label(tag).includes(' to 4,321')", arg=tag)


def test_a_run_says_how_it_ended(serve: Callable[..., Any], profile: Any, tmp_path: Path) -> None:
    """In its row, which a mark for NaN may cover in part, and in the table of HParams."""
    sample = SAMPLES.parent / "mlflow_samples" / "mlflow.db.xz"
    (tmp_path / "mlflow.db").write_bytes(lzma.decompress(sample.read_bytes()))
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        database.execute("update runs set status = 'FAILED'")
        database.execute("update metrics set is_nan = 1")
        database.execute("delete from metrics where key <> 'loss'")
        database.execute("delete from params where key <> 'lr'")
    page = profile.open(serve(tmp_path).url, "#hparams")
    row = page.locator('.tb-run[title="vision_ü exp/trial"]')
    row.get_by_text("NaN").wait_for()
    row.get_by_role("img", name="failed").wait_for()
    row.hover()
    title = row.locator("label[title]").get_attribute("title")
    assert title == "vision_ü exp/trial\nFrom mlflow.db. It failed."
    page.get_by_role("columnheader", name="Status").wait_for()
    page.get_by_role("cell", name="failure").first.wait_for()


def test_times_are_offered_if_a_run_has_them(
    serve: Callable[..., Any], profile: Any, tmp_path: Path
) -> None:
    """On an axis of times, a chart has only the runs that have times; the dialog names twins."""
    logdir = tmp_path / "logs"
    shutil.copytree(SAMPLES / "ultralytics" / "exp", logdir / "csv")
    shutil.copytree(SAMPLES / "ultralytics" / "exp", logdir / "twin")
    for run in ("events", "twin"):
        points = [(step, 0.5, 1.7e9 + step) for step in range(5)]
        write_run(logdir, run, scalars={"train/box_loss": points})
    server = serve(logdir)
    tag = "train/box_loss"
    page = profile.open(server.url, f"#scalars&tagQuery=re:^{tag}$&scalars.x=relative")
    page.wait_for_function("(tag) => tb.label(tag).includes(': events, twin')", arg=tag)
    page.get_by_text("1 run not drawn: no times in the log").wait_for()
    page.wait_for_function(f"() => {AXES}.length === 3")
    page.locator('.tb-run[title="events"] input').click()
    page.locator('.tb-run[title="twin"] input').click()
    page.wait_for_function(f"() => {AXES}.length === 1")
    page.wait_for_function("(tag) => tb.label(tag).includes(' by step from ')", arg=tag)
    twins = "1 file of the kind twin"
    assert twins in server.log.read_text()
    page.get_by_role("button", name=str(logdir)).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("shown by the event files beside them").wait_for()
    dialog.get_by_text("results.csv: not shown, since").wait_for()
    dialog.get_by_text("logged twice").wait_for()
    dialog.get_by_text("3 runs, 1 of them logged by another program, in 4 directories").wait_for()
