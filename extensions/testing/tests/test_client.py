"""`make_client` and `tbcore_client`: their options, and log directories that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from disk import Disk

from tbcore import PluginInfo, hookimpl
from tbcore.errors import TbcoreError
from tbcore_testing import make_client, write_run
from tbcore_testing.conformance import test_server


@pytest.mark.parametrize("name", ["reload", "config", "logdirs"])
def test_a_wrong_option_names_the_function(tmp_path: Path, name: str) -> None:
    """And not a class that the caller has never seen."""
    with pytest.raises(TypeError, match=rf"^make_client\(\) got an unexpected .* '{name}'$"):
        make_client(tmp_path, **{name: None})


@pytest.mark.parametrize("options", [{}, {"dev": False}, {"token": "t" * 32, "path_prefix": "/a"}])
def test_a_log_directory_that_cannot_be_listed(
    tmp_path: Path,
    tbcore_client: Callable[..., Any],
    disk: Disk,
    options: dict[str, Any],
) -> None:
    """It is an error with the reason, unlike one without runs."""
    disk.refuse(tmp_path)
    with pytest.raises(TbcoreError, match=rf"^cannot list {tmp_path}: Permission denied$"):
        tbcore_client(tmp_path, **options)


def test_a_log_directory_that_is_not_there_yet(
    tmp_path: Path, tbcore_client: Callable[..., Any]
) -> None:
    """It has no runs until it is written."""
    client = tbcore_client(tmp_path / "later")
    assert client.get("data/runs").json() == []
    write_run(tmp_path / "later", "train", scalars={"loss": [0.5]})
    client.reload()
    assert client.get("data/runs").json() == ["train"]


@pytest.mark.parametrize("leave", ["with", "close", "twice"])
def test_a_client_closes_its_plugins_once(tmp_path: Path, leave: str) -> None:
    """So that what a plugin started does not run until pytest ends."""
    ended: list[str] = []
    info = PluginInfo(title="Marks", module=None)
    plugin = SimpleNamespace(
        plugin_info=hookimpl(lambda: info, specname="plugin_info"),
        close=hookimpl(lambda: ended.append("close"), specname="close"),
    )
    with make_client(tmp_path, plugins={"marks": plugin}) as client:
        assert client.get("data/plugins_listing").json() == {"marks": True}
        if leave != "with":
            client.close()
        assert ended == (["close"] if leave != "with" else [])
        if leave == "twice":
            client.close()
    assert ended == ["close"]


def test_a_server_that_does_not_end_fails_the_conformance_test(
    tmp_path: Path, limits: Callable[..., None]
) -> None:
    """It does not stop the suite."""
    limits(test_server, CLOSE_TIMEOUT_SECONDS=0.01)
    plugin: Any = SimpleNamespace(plugin=SimpleNamespace(implements=bool), argument="scalars")
    logs: Any = lambda name: SimpleNamespace(logdir=tmp_path)  # noqa: E731
    with pytest.raises(pytest.fail.Exception, match=r"has not ended 0\.01 s after its start"):
        test_server.test_close_ends_what_it_started(plugin, logs)
