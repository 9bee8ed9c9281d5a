"""TensorBoard's page and plugins of TensorBoard, in processes of their own."""

from __future__ import annotations

import http.client
import importlib.util
import select
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tbcore.engine import OptionError
from tbcore_tensorboard.data import Data
from tbcore_testing import TbcoreClient, write_run

Hosting = Callable[..., TbcoreClient]
FAKE = "tb-fake/data/plugin/fake"
needs_tensorboard = pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None, reason="tensorboard is not installed"
)


def test_a_response_that_comes_before_the_body_was_sent_is_shown(
    hosting: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that needs no body responds when it has the headers, and closes the connection."""
    client = hosting()
    assert client.get(f"{FAKE}/nothing").status_code == 404  # The process runs.
    send = http.client.HTTPConnection.send

    def late(connection: http.client.HTTPConnection, data: bytes) -> None:
        send(connection, data)
        connection.sock.recv(1, socket.MSG_PEEK)  # Until the response is there,
        select.select([], [], [], 0.2)  # and the other end is closed.

    monkeypatch.setattr(http.client.HTTPConnection, "send", late)
    assert client.post(f"{FAKE}/nothing", content=b"body").status_code == 404


@needs_tensorboard
@pytest.mark.parametrize(
    "config", [{}, {"path_prefix": "/team/logs"}, {"token": "a-token"}], ids=str
)
def test_the_page_reads_the_data_of_this_server(
    hosting: Hosting, tbcore_logdir: Path, config: dict[str, str]
) -> None:
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5, 0.25]})
    client = hosting(**config)
    client.headers["authorization"] = "Bearer a-token"
    assert "<script" in client.get("tensorboard/").text
    assert client.get("tensorboard/data/runs").json() == ["train"]
    wanted = {"run": "train", "tag": "loss"}
    found = client.get("tensorboard/data/plugin/scalars/scalars", params=wanted).json()
    assert [row[1:] for row in found] == [[0, 0.5], [1, 0.25]]
    write_run(tbcore_logdir, "eval", scalars={"loss": [1.0]})
    client.reload()
    assert client.get("tensorboard/data/runs").json() == ["eval", "train"]
    policy = client.get("tensorboard/").headers["content-security-policy"]
    assert "; frame-src 'self'" in policy
    assert "'unsafe-eval'" not in policy
    entry = client.get("tensorboard/data/plugin_entry.html", params={"name": "projector"})
    assert entry.url.path.endswith("/tb-projector/data/plugin/projector/tbcore-entry.html")
    assert "'unsafe-eval'" in entry.headers["content-security-policy"]


@needs_tensorboard
def test_the_list_of_plugins_has_the_page(hosting: Hosting) -> None:
    listed = {p["name"]: p for p in hosting().get("data/plugins").json()["plugins"]}
    assert (listed["tensorboard"]["page"], listed["tensorboard"]["state"]) == (
        "tensorboard/",
        "active",
    )
    found = hosting().get("data/frontends").json()["plugins"]
    assert listed["tb-fake"]["page"] == ""
    tabs = {tab["name"]: tab["module"] for tab in found}
    assert tabs["tensorboard"] is None
    assert all(tabs[name] for name in ("tb-fake", "tb-broken", "tb-projector"))
    projector = next(tab for tab in found if tab["name"] == "tb-projector")
    assert projector["description"].endswith("It shows files such as projector_config.pbtxt.")
    assert "add_embedding" in projector["how_to_log"]["PyTorch"]


@pytest.mark.parametrize("kind", ["tensor", "blob"])
def test_scalars_that_are_asked_for_as_another_kind_are_no_error(
    hosting: Hosting, tbcore_logdir: Path, kind: str
) -> None:
    """They have no values of this kind; the tags of other runs are still listed."""
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5]})
    found = Data(hosting().multiplexer).query_list("scalars", kind, None, None)
    assert found == {"train": {"loss": (0, 0.0, b"", "", "loss", 0)}}


def test_the_options_of_a_tab_are_those_of_tensorboard(hosting: Hosting) -> None:
    with pytest.raises(OptionError, match=r"try --set tensorboard\.memory"):
        hosting(plugin_values={"tb-fake": {"memory": "300"}})


def test_a_tab_leads_to_the_page_of_its_plugin(hosting: Hosting, tbcore_logdir: Path) -> None:
    client = hosting()
    tab = client.get("tb-fake/tbcore-tab.html")
    assert tab.url.path == "/tb-fake/data/plugin/fake/tbcore-entry.html"
    assert "tbcore-entry.html?inner" in tab.text
    script = client.get(f"{FAKE}/tbcore-entry.js").text
    assert script.startswith('import("./index.js")')
    assert client.get("tb-fake/").url.path == tab.url.path
    assert client.get("data/plugin/tb-fake/state").json() == {"fault": "", "warning": ""}
    assert client.get(f"{FAKE}/logdir").json() == str(tbcore_logdir)
