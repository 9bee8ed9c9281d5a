"""Libraries of npm, bundled into one file, in a page of a plugin, without eval."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import machine
import pytest

from tbcore_testing import write_run

SOURCE = Path(__file__).parent / "bundle"
PYTHON = """
from tbcore import PluginInfo, hookimpl

@hookimpl
def plugin_info():
    return PluginInfo(title="Bundle", page="static/index.html")
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plugin `bundle`, built with the libraries of the lock file.

    The test is skipped, or fails if CI=true, where npm cannot install them.
    """
    node = machine.find_node()
    if node is None:
        pytest.skip("needs Node and npm")
    folder = tmp_path_factory.mktemp("bundle")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SOURCE / name, folder)
    shutil.copytree(SOURCE / "src", folder / "src")
    npm = machine.npm_command(node)
    install = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = f"npm cannot install the libraries: {done.stderr.strip().splitlines()[-1:]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    static = folder / "plugins" / "bundle" / "static"
    static.mkdir(parents=True)
    (static.parent / "__init__.py").write_text(PYTHON, encoding="utf-8")
    shutil.copy(SOURCE / "src" / "index.html", static)
    build = [*npm, "run", "build", "--", f"--outfile={static / 'index.js'}"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    return static.parent.parent


@pytest.mark.release
def test_libraries_of_npm_work_in_a_page(tbcore_page: Any, tmp_path: Path, plugins: Path) -> None:
    """WebGL, charts, their own styles, an interpreter in place of eval, WebAssembly, a worker."""
    write_run(tmp_path, "train", scalars={"loss": [0.5]})
    page = tbcore_page(tmp_path, plugins_dirs=[str(plugins)])

    body = page.tab("bundle")

    results = page.until(lambda: body.evaluate("() => globalThis.results"))
    assert results == {
        "three": "255,0,0,255",
        "chart": "true",
        "plotly": "3,left,relative",
        "vega": "2",
        "wasm": "5",
        "worker": "2,4",
        "host": "train",
    }
    assert page.errors == []
