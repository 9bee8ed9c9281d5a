"""Fixtures: a real JupyterLab with jupyter-server-proxy, and a browser."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import *  # noqa: F403
from common_fixtures import WAIT_SECONDS, until
from server_fixtures import *  # noqa: F403
from server_fixtures import browsers

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAMS = REPOSITORY / ".venv-jupyter" / "bin"
"""What `dev.py test --services` installs."""
TOKEN = "a-token-of-jupyter"


class Lab:
    """A process of JupyterLab, with files in `folder`."""

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        self.folder = folder
        self.token = TOKEN
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.port = 0
        self.runtime = folder / "runtime"
        kept = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("TBCORE_", "JUPYTER", "PYTHON", "TENSORBOARD"))
        }
        environment = {
            **kept, "HOME": str(folder), "TMPDIR": str(self.temporary),
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "TENSORBOARD_BINARY": str(PROGRAMS / "tbcore"), **variables,
        }  # fmt: skip
        command = [
            str(PROGRAMS / "jupyter-lab"), "--no-browser", "--allow-root", "--port=0",
            f"--IdentityProvider.token={TOKEN}",
            "--ServerApp.allow_remote_access=True", "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.expose_app_in_browser=True", *options,
        ]  # fmt: skip
        self.log = folder / "lab.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        until(self.responds)

    def responds(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            file = self.runtime / f"jpserver-{self.process.pid}.json"
            self.port = json.loads(file.read_text())["port"]
            return self.request("api/status") is not None
        except (OSError, ValueError):  # The file is not there, or not complete.
            return False

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/{path}"

    def request(self, path: str, method: str = "GET", **headers: str) -> Any:
        """A response of Jupyter's own API."""
        headers |= {"authorization": f"token {TOKEN}"}
        request = urllib.request.Request(self.url(path), method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
            return json.loads(response.read() or b"null")

    def notebook(self, name: str, *cells: str) -> str:
        """Writes a notebook with these cells; returns its path in Jupyter's addresses."""
        content = {
            "nbformat": 4, "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python"}},
            "cells": [
                {"cell_type": "code", "id": f"cell-{number}", "source": source, "metadata": {},
                 "outputs": [], "execution_count": None}
                for number, source in enumerate(cells)
            ],
        }  # fmt: skip
        (self.folder / f"{name}.ipynb").write_text(json.dumps(content))
        return f"{self.workspace()}/tree/{name}.ipynb"

    def workspace(self) -> str:
        """The path of an empty workspace: others show again what they had before."""
        return f"lab/workspaces/{secrets.token_hex(4)}"

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(WAIT_SECONDS)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture
def keep_temporary_files(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path | str], None]:
    """`keep_temporary_files(folder)`: temporary files of this process go there, which is made."""

    def keep(folder: Path | str) -> None:
        Path(folder).mkdir(exist_ok=True)
        monkeypatch.setattr("tempfile.tempdir", str(folder))

    return keep


@pytest.fixture(scope="module")
def start_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Lab]]:
    """`start_lab("--option", VARIABLE="x")`: starts JupyterLab; it ends after the module."""
    if not (PROGRAMS / "jupyter-lab").exists():
        message = "no JupyterLab; `dev.py test --services` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    labs: list[Lab] = []

    def start(*options: str, **variables: str) -> Lab:
        labs.append(Lab(tmp_path_factory.mktemp("lab") / "home", *options, **variables))
        return labs[-1]

    yield start
    for lab in labs:
        lab.end()


class Tab:
    """A page of JupyterLab in a browser."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def open(self, address: str) -> Tab:
        """Opens an address of JupyterLab, and waits until a notebook there has a kernel."""
        self.page.goto(f"{address}?token={TOKEN}")
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
            "?.status === 'idle'"
        )
        return self

    def command(self, name: str, arguments: Any = None) -> None:
        """Does what an entry of a menu does, to its end."""
        self.page.evaluate("([n, a]) => jupyterapp.commands.execute(n, a ?? {})", [name, arguments])

    def run(self, cell: int) -> Any:
        """Runs a cell. The element of its output."""
        self.page.evaluate(
            """(cell) => {
                 jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
                 jupyterapp.commands.execute('notebook:run-cell');
               }""", cell,
        )  # fmt: skip
        return self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from browsers()


@pytest.fixture
def new_tab(browser: Any, tmp_path: Path) -> Iterator[Callable[[], Tab]]:
    """A function that opens an empty tab, in a profile of its own."""
    contexts: list[Any] = []

    def make() -> Tab:
        contexts.append(browser.new_context(viewport={"width": 1400, "height": 1000}))
        contexts[-1].set_default_timeout(WAIT_SECONDS * 1000)
        return Tab(contexts[-1].new_page())

    yield make
    for context in contexts:
        context.close()
