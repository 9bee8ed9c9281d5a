"""`healthz`, `readyz` and `metrics`: what programs that watch a server get, and need for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.plugins.loading import load_plugins
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore_testing import write_run

Make = Callable[..., Any]

SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
ESCAPE = re.compile(r"\\(.)")
SUFFIXES = {"counter": {""}, "gauge": {""}, "summary": {"_sum", "_count"}}


def unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def parsed(text: str) -> dict[str, float]:
    """Maps each sample of Prometheus' text format, version 0.0.4, to its value.

    Labels are those of the text, with plain values. Fails where the format is not kept: each family
    has one TYPE, before its samples, which stand together; no sample occurs twice.
    """
    assert text.endswith("\n")
    samples: dict[str, float] = {}
    families: set[str] = set()
    family = kind = ""
    for line in text[:-1].split("\n"):
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert re.fullmatch("tbcore_[a-z_]+", family)
            assert family not in families
            assert (kind == "counter") is family.endswith("_total")
            families.add(family)
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        name, labels, value = sample.groups()
        assert name.removeprefix(family) in SUFFIXES[kind], line
        pairs = LABEL.findall(labels or "")
        assert LABEL.sub("", labels or "") == "", line
        assert len(dict(pairs)) == len(pairs)
        plain = [f"{label}={ESCAPE.sub(unescaped, text)}" for label, text in pairs]
        key = " ".join([name, *plain])
        assert key not in samples
        samples[key] = float(value)
    return samples


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def loader(board: Board, tmp_path: Path) -> Loader:
    """A loader of two runs, which has read nothing yet."""
    write_run(tmp_path, "hidden/train", scalars={"loss": [1.0, 0.5], "b": [1.0]})
    write_run(tmp_path, "hidden/eval", scalars={"loss": [1.0]})
    return Loader(board, [LogdirSpec(None, str(tmp_path))], reload_interval=0)


def test_probes_tell_nothing_about_runs(loader: Loader, board: Board, make_client: Make) -> None:
    """`readyz` is 503 with the progress in bytes until all logs have been read once."""
    client = make_client(board=board, token="secret")
    assert (client.get("healthz").status_code, client.get("healthz").text) == (200, "ok\n")
    early = client.get("readyz")
    assert (early.status_code, early.headers["retry-after"]) == (503, "5")
    assert early.text == "reading: 0 B of 0 B"

    loader.load_once()

    assert (client.get("readyz").status_code, client.get("readyz").text) == (200, "ready\n")
    assert client.post("readyz").status_code == 405


def test_figures_of_the_logs(loader: Loader, board: Board, make_client: Make) -> None:
    """They need the token, and have no names of runs."""
    client = make_client(board=board, token="secret")
    loader.load_once()
    assert client.get("metrics").status_code == 401

    response = client.get("metrics", headers={"authorization": "Bearer secret"})

    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "hidden" not in response.text
    samples = parsed(response.text)
    size = samples.pop("tbcore_log_bytes")
    assert size == samples.pop("tbcore_log_read_bytes") > 0
    assert samples == {
        "tbcore_runs": 2, "tbcore_points": 4, "tbcore_passes_total": 1, "tbcore_problems": 0,
    }  # fmt: skip


PATHS = ["/plain", '/"quoted"', "/back\\slash", "/größe"]


def test_figures_of_plugins(make_plugin: Make, make_client: Make) -> None:
    """Calls and failures of each route, whose path may have any characters."""

    def handler(request: Request) -> Response:
        if request.query_params:
            raise ValueError
        return PlainTextResponse("fine")

    routes = [Route(path, handler) for path in PATHS]
    client = make_client({"my.plugin-1": make_plugin(routes=lambda: routes)})
    for path in PATHS:
        client.get(f"data/plugin/my.plugin-1{path}")
    client.get("data/plugin/my.plugin-1/plain?x=1")

    samples = parsed(client.get("metrics").text)

    for path in PATHS:
        call = f"plugin=my.plugin-1 call=route {path}"
        assert samples[f"tbcore_request_seconds_count {call}"] == (2 if path == "/plain" else 1)
        assert samples[f"tbcore_request_seconds_sum {call}"] >= 0
    assert samples["tbcore_plugin_faults_total plugin=my.plugin-1"] == 1


def test_the_number_of_faults_never_falls(make_plugin: Make, make_client: Make) -> None:
    """Only a limited number of different faults is kept with its message."""
    plugins = load_plugins(only=(), extra={"made": make_plugin()})
    for number in range(250):
        plugins[0].stats.record_failure("start", f"fault {number}")

    samples = parsed(make_client(plugins).get("metrics").text)

    assert samples["tbcore_plugin_faults_total plugin=made"] == 250
