"""The tutorial for authors of plugins, followed to the letter: from an empty folder to a tab."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "writing_a_plugin.md"
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MAX_LINES = 40
"""Of Python and of JavaScript: fewer than that, blank ones counted."""
START_LIMIT = 60.0


def sections() -> str:
    """The part of the page that ends with a tab: what follows is about tests and more."""
    return PAGE.read_text(encoding="utf-8").partition("\n## Test it")[0]


@pytest.fixture
def files() -> dict[str, str]:
    """Path to content, as the page has them."""
    return {path: text for _, path, text in BLOCK.findall(sections()) if path}


@pytest.fixture
def served(tmp_path: Path, files: dict[str, str]) -> Iterator[str]:
    """Writes the files and types the commands; gives the address that the last one prints."""
    for path, text in files.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    [typed] = [text for language, _, text in BLOCK.findall(sections()) if language == "sh"]
    *first, last = typed.splitlines()
    folder = str(Path(sys.executable).parent)
    environ = {**os.environ, "PATH": os.pathsep.join([folder, os.environ["PATH"]])}
    environ.pop("TBCORE_PLUGINS", None)
    for line in first:
        subprocess.run(line, shell=True, cwd=tmp_path, env=environ, check=True, timeout=60)
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            last.split(), cwd=tmp_path, env=environ, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + START_LIMIT
        while not (found := re.search(r"^tbcore \S+ at (\S+)/ ", log.read_text(), re.MULTILINE)):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield found[1]
    finally:
        process.terminate()
        process.wait(timeout=10)


def test_the_tutorial_ends_with_a_tab(
    served: str, files: dict[str, str], profile: Any, tmp_path: Path
) -> None:
    """With what its route says of the runs; a change that the page proposes is in the open tab."""
    assert sorted(Path(path).suffix for path in files) == [".js", ".py"]
    for text in files.values():
        assert len(text.splitlines()) < MAX_LINES

    page = profile.open(served)
    page.get_by_role("tab", name="Steps", exact=True).click()
    items = page.locator(".plugin li")
    items.first.wait_for()
    with urllib.request.urlopen(f"{served}/data/plugin/steps/last") as answer:
        steps = json.loads(answer.read())
    assert sorted(items.all_inner_texts()) == sorted(f"{run}: {s}" for run, s in steps.items())
    assert len(steps) > 3
    first = items.first.inner_text()
    page.get_by_role("checkbox", name=first.partition(":")[0].partition("/")[0]).first.uncheck()
    page.get_by_text(first, exact=True).wait_for(state="detached")
    assert max(step for step in steps.values() if step is not None) > 100

    [(old, path, new)] = re.findall(r"change `(.+?)` in `(.+?)` to `(.+?)`", sections())
    assert old in files[path]
    (tmp_path / path).write_text(files[path].replace(old, new), encoding="utf-8")
    page.get_by_role("tab", name="Last steps", exact=True).wait_for()
