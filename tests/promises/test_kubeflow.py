"""Kubeflow's command line, as its tensorboard-controller runs it, seen with a browser."""

from __future__ import annotations

import http.client
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import containers
import pytest
from common_fixtures import WAIT_SECONDS, until
from drawn_charts import DRAWN, LABEL, zoom
from server_fixtures import browsers

from tbcore_testing import write_run

pytestmark = [pytest.mark.services, pytest.mark.browser]

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = "/usr/local/bin/tensorboard"
LOGS = "/tensorboard_logs/"
"""Where the controller mounts the volume that a user names."""


def variables() -> dict[str, str]:
    """The variables of the image for Kubeflow, according to the Dockerfile."""
    found, stages = {"PATH": containers.PATH}, ("base", "kubeflow")
    stage = ""
    for instruction, text in containers.instructions((REPOSITORY / "Dockerfile").read_text()):
        if instruction == "FROM":
            stage = text.rpartition(" ")[2]
        elif instruction == "ENV" and stage in stages:
            found |= dict(word.split("=", 1) for word in shlex.split(text))
    assert found["TBCORE_NO_TOKEN"] == "1"
    return found


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logs = tmp_path_factory.mktemp("volume") / "logs"
    write_run(logs, "train", scalars={"loss": [1 / (n + 1) for n in range(20_000)]})
    return logs


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Iterator[str]:
    """The address of a server as in a pod: any user, nothing can be written, no home directory.

    The pod is in a namespace with a Service named `tbcore`.
    """
    if reason := containers.why_not():
        pytest.skip(reason)
    scratch = tmp_path_factory.mktemp("scratch")
    log = logs.with_name("log")
    tbcore = Path(sys.executable).with_name("tbcore")
    folders = {REPOSITORY, Path(sys.prefix), Path(sys.base_prefix)}
    folders.discard(Path("/usr"))  # It is in the copy, and would hide the link.
    command = containers.on_this_machine(
        [PROGRAM, f"--logdir={LOGS}", "--bind_all"], scratch,
        sorted(folders),
        f"ln -sf {tbcore} {{root}}{PROGRAM}",
        user="1000730000:0", mounted={LOGS: logs},
        environment={**variables(), "TBCORE_PORT": "tcp://10.0.0.1:80"},
    )  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    line = r"^TensorBoard 2\.21\.0 .* at http://localhost:(\d+)/ \(Press CTRL\+C to quit\)$"

    def found() -> re.Match[str] | None:
        assert process.poll() is None, log.read_text()
        return re.search(line, log.read_text(), re.MULTILINE)

    until(found)
    server = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    status = Path(f"/proc/{server}/status").read_text()
    assert re.search(r"^Uid:\s+1000730000\s", status, re.MULTILINE)
    assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE)
    port = found()
    assert port
    yield f"http://kubeflow.example:{port[1]}/"
    os.kill(server, signal.SIGTERM)
    assert process.wait(WAIT_SECONDS) == 0


@pytest.fixture
def page() -> Iterator[Any]:
    for browser in browsers():
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(WAIT_SECONDS * 1000)
        yield page
        page.close()


def test_charts_under_any_host_name(address: str, page: Any, logs: Path) -> None:
    """A drawn chart, a zoom, which takes a POST request, and a run that is written then."""
    page.goto(address)
    page.wait_for_function(DRAWN)
    zoom(page, page)

    write_run(logs, "later", scalars={"loss": [2.0, 3.0]})
    page.wait_for_function(f"() => ({LABEL})().includes('later')")


def test_other_sites_stay_out(address: str) -> None:
    """Nothing but the Host header is admitted by `TBCORE_ALLOWED_HOST=*`."""
    own = urlsplit(address)
    assert own.port

    def response(method: str, path: str, **headers: str) -> http.client.HTTPResponse:
        client = http.client.HTTPConnection("127.0.0.1", own.port, timeout=WAIT_SECONDS)
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        client.request(method, path, b"{}", {"Host": own.netloc, **names})
        return client.getresponse()

    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://{own.hostname}:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        posted = response("POST", "/data/plugin/scalars/window", **headers)
        assert posted.status == 403, headers
    page = response("GET", "/", Origin="http://evil.example")
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert page.headers["access-control-allow-origin"] is None
