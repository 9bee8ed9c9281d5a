"""Logs on the Hugging Face hub, by a server with its API."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from commands import command
from common_fixtures import until
from hub import URI, Hub
from storages import FILE, events

pytest.importorskip("huggingface_hub")

pytestmark = pytest.mark.services


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with two runs in one repository."""
    for number in (1, 2):
        events(folder / "tb" / f"r{number}" / FILE, *range(number + 1))
    server = Hub(folder)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()


def output_of(*arguments: str) -> str:
    """What a command prints that has nothing to complain about."""
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.parametrize("uri", [f"{URI}/tb", f"{URI}@main/tb/"])
def test_commands_and_python_read_a_repository(hub: Hub, uri: str) -> None:
    """A branch may be named."""
    runs = [line.split("\t")[1] for line in output_of(*command("ls", uri)).splitlines()]
    assert runs == ["run", "r1", "r2"]
    assert output_of(*command("check", uri)).startswith("2 runs, 2 files ")
    assert output_of(*command("export", uri, "-o", "-")).count("\n") == 1 + 2 + 3
    code = "import sys, tbcore; print(len(tbcore.open(sys.argv[1])['r2']['loss']))"
    assert output_of(sys.executable, "-c", code, uri) == "3\n"


def test_a_listing_is_a_request_a_page_and_each_file_one(hub: Hub, folder: Path) -> None:
    """And one that asks for the repository; not one for each directory."""
    hub.page_size = 10
    for number in range(3, 10):
        events(folder / "tb" / "more" / f"r{number}" / FILE, 1)
    output_of(*command("check", f"{URI}/tb"))
    listings = [request for request in hub.requests if "/tree/" in request]
    assert len(list((folder / "tb").rglob("*"))) == 19
    assert len(listings) == 2
    assert len([request for request in hub.requests if "/resolve/" in request]) == 9
    assert len(hub.requests) == 1 + 2 + 9


def test_a_server_shows_what_is_added_later(
    hub: Hub, folder: Path, serve: Callable[..., str]
) -> None:
    """New files, and files that were replaced by others, also of the same size."""
    address = serve(None, "--logdir", URI)

    def steps(run: str) -> list[int]:
        query = {"run": run, "tag": "loss"}
        response = httpx.get(f"{address}/data/plugin/scalars/scalars", params=query)
        return [row[1] for row in response.json()] if response.is_success else []

    until(lambda: steps("tb/r2") == [0, 1, 2])
    events(folder / "tb" / "r2" / FILE, 0, 1, 2, 3)
    events(folder / "later" / FILE, 5)
    until(lambda: steps("tb/r2") == [0, 1, 2, 3])
    until(lambda: steps("later") == [5])
    events(folder / "tb" / "r2" / FILE, 4, 5, 6, 7)
    until(lambda: steps("tb/r2") == [4, 5, 6, 7])
    assert httpx.get(f"{address}/data/status").json()["problems"] == []


@pytest.mark.parametrize("uri", ["hf://datasets/me/none", f"{URI}/none"])
def test_a_missing_repository_or_directory_is_named(hub: Hub, uri: str) -> None:
    result = subprocess.run(command("ls", uri), capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == f"tbcore: '{uri}' does not exist; see `tbcore ls --help`\n"
