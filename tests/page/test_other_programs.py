"""Logs of other programs in a real browser: of Trainer, Lightning, Keras and Ultralytics."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
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
    age = page.locator(f'.tb-run[title="{run}"] .tb-age')
    assert f"From {file}, which has no times of its own." in age.get_attribute("title")
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
    dialog.get_by_text("results.csv").wait_for()
