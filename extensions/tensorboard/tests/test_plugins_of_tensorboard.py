"""The plugins of TensorBoard that are promised, xprof and the projector, with their real code."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until
from hosted import write_embedding, write_trace

from tbcore_tensorboard import child
from tbcore_testing import TbcoreClient, write_run

Hosting = Callable[..., TbcoreClient]
Serve = Callable[..., str]


def needs(name: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(name) is None
    return pytest.mark.skipif(missing, reason=f"{name} is not installed")


def png() -> bytes:
    """A picture of 2 x 2 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = zlib.compress(b"\0\xff\0\0\0\xff\0" * 2)
    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@needs("xprof")
def test_xprof_reads_a_trace_and_leaves_the_logs_as_they_are(
    hosting: Hosting, tbcore_logdir: Path, tmp_path: Path
) -> None:
    """Its caches end up in a mirror, which has new traces, but no file that a link leads to."""
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5]})
    trace = write_trace(tbcore_logdir)
    (tmp_path / "secret").write_text("a-secret")
    (trace.parent / "linked.json").symlink_to(tmp_path / "secret")
    before = content_of(tbcore_logdir)
    client = hosting()
    assert client.get("data/plugins_listing").json()["tb-profile"] is True
    assert client.get("data/status").json()["other_files"] == []
    address = "tb-profile/data/plugin/profile"
    assert client.get(f"{address}/runs").json() == ["exp/2026_01_01"]
    names = client.get(f"{address}/run_tools", params={"run": "exp/2026_01_01"}).json()
    assert {"overview_page", "trace_viewer@"} & set(names)
    found = client.get(f"{address}/data", params={
        "run": "exp/2026_01_01", "tag": "trace_viewer@", "host": "machine", "resolution": "8000",
    })  # fmt: skip
    assert found.status_code == 200, found.text
    assert "train_step" in found.text
    assert content_of(tbcore_logdir) == before
    process = client.get("data/plugin/tb-profile/state").json()
    assert process == {"fault": "", "warning": ""}
    assert client.get(f"{address}/config").json()["hideCaptureProfileButton"] is True
    assert client.get(f"{address}/capture_profile").status_code == 403


@needs("tensorboard")
def test_the_projector_reads_embeddings_and_no_other_file(
    hosting: Hosting, tbcore_logdir: Path, tmp_path: Path
) -> None:
    """TensorBoard 2.20 shows any file that a configuration names; here it is refused."""
    run = write_run(tbcore_logdir, "train", scalars={"loss": [0.5]}).parent
    write_embedding(run, png())
    client = hosting()
    address = "tb-projector/data/plugin/projector"
    assert client.get("data/plugins_listing").json()["tb-projector"] is True
    assert client.get(f"{address}/runs").json() == ["train"]
    of_run = {"run": "train", "name": "digits"}
    assert len(client.get(f"{address}/tensor", params=of_run).content) == 4 * 3 * 4
    assert client.get(f"{address}/sprite_image", params=of_run).content == png()
    secret = tmp_path / "secret"
    secret.write_text("a-secret")
    config = run / "projector_config.pbtxt"
    config.write_text(config.read_text().replace("labels.tsv", os.fspath(secret)))
    assert client.post("tb-projector/tbcore-start").status_code == 204
    again = hosting()
    for one in (client, again):
        answer = one.get(f"{address}/metadata", params={**of_run, "num_rows": "10"})
        assert "a-secret" not in answer.text


@needs("tensorboard")
def test_the_projector_reads_embeddings_without_event_files(
    hosting: Hosting, tbcore_logdir: Path
) -> None:
    """Whatever the directory."""
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5]})
    (tbcore_logdir / "words" / "small").mkdir(parents=True)
    for folder in (tbcore_logdir, tbcore_logdir / "words" / "small"):
        write_embedding(folder, png())
    client = hosting()
    assert client.get("data/plugins_listing").json()["tb-projector"] is True
    address = "tb-projector/data/plugin/projector"
    assert set(client.get(f"{address}/runs").json()) == {".", "words/small"}
    of_run = {"run": "words/small", "name": "digits"}
    assert len(client.get(f"{address}/tensor", params=of_run).content) == 4 * 3 * 4
    assert client.get("tensorboard/data/runs").json() == ["train"]


@needs("tensorboard")
def test_a_configuration_that_the_projector_cannot_read_is_a_line_of_the_log(
    hosting: Hosting, tbcore_logdir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """TensorBoard then shows no embeddings of any run."""
    for name in ("broken", "train"):
        write_embedding(write_run(tbcore_logdir, name, scalars={"loss": [0.5]}).parent, png())
    (tbcore_logdir / "broken" / "projector_config.pbtxt").write_text("embeddings [")
    client = hosting()
    assert client.get("tb-projector/data/plugin/projector/runs").status_code == 500
    until(lambda: caplog.records)
    [record] = caplog.records
    path = re.escape(f"({tbcore_logdir}/broken/projector_config.pbtxt)")
    line = rf"projector of tensorboard 2.*ParseError: 1:13 : .* {path}"
    assert re.fullmatch(line, record.getMessage())


def test_the_path_of_a_configuration_may_be_in_any_variable() -> None:
    """Another version of the projector may have other names for it."""

    def parse(text: str, where: str) -> None:
        raise ValueError(text)

    try:
        parse("a mistake", "/logs/a/projector_config.pbtxt")
    except ValueError:
        record = logging.makeLogRecord({"msg": "failed:", "exc_info": sys.exc_info()})
    line = child._Lines().format(record).splitlines()[-1]
    assert line == "failed: ValueError: a mistake (/logs/a/projector_config.pbtxt)"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("tab", "package", "shown"),
    [
        ("#tb-profile", "xprof", "Overview Page"),
        ("#tb-projector", "tensorboard", "Points: 4"),
        ("tensorboard/#scalars", "tensorboard", "loss"),
        ("tensorboard/#projector", "tensorboard", "Points: 4"),
    ],
)
def test_the_page_draws(
    serve: Serve, browser: Any, tmp_path: Path, tab: str, package: str, shown: str
) -> None:
    """In the frames of the tab; markup in names and labels stays text, and the address is kept."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    name = "<img src=x onerror=document.title=1>"
    run = write_run(tmp_path / "runs", "train", scalars={"loss": [0.5, 0.25], name: [1.0]}).parent
    write_embedding(run, png())
    write_trace(tmp_path / "runs")
    base = serve(tmp_path / "runs")
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"{base}/{tab}")
        script = """(shown) => {
          const inner = (one) => [one.shadowRoot, one.contentDocument?.body].filter(Boolean);
          const all = (root) => [...root.querySelectorAll("*")];
          const text = (root) => root.textContent + all(root).flatMap(inner).map(text).join(" ");
          return text(document.body).replace(/\\s+/g, " ").includes(shown);
        }"""
        page.wait_for_function(script, arg=shown, timeout=60_000)
        assert page.title() != "1"
        assert page.url.startswith(f"{base}/{tab}")
    finally:
        context.close()
