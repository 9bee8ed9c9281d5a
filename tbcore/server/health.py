"""Whether a server works, for programs that watch it, and its figures, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import Response

from tbcore.http import error_response
from tbcore.plugins.types import MountedPlugin
from tbcore.store.board import Board
from tbcore.text import size

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def healthz() -> Response:
    """Says that the server responds."""
    return Response("ok\n", media_type="text/plain")


def readyz(board: Board) -> Response:
    """Says whether all logs have been read once; before, the status is 503, with the progress."""
    status = board.status
    if status.passes:
        return Response("ready\n", media_type="text/plain")
    progress = f"reading: {size(status.bytes_read)} of {size(status.bytes_total)}"
    return error_response(503, progress, headers={"retry-after": "5"})


def metrics(board: Board, mounted: Iterable[MountedPlugin]) -> Response:
    """Figures of the logs, of requests for plugins, and of faults, in Prometheus' text format.

    Blocks for milliseconds.
    """
    status, runs = board.status, board.state.runs
    figures: dict[str, tuple[str, list[tuple[str, float]]]] = {
        "log_bytes": ("gauge", [("", status.bytes_total)]),
        "log_read_bytes": ("gauge", [("", status.bytes_read)]),
        "passes_total": ("counter", [("", status.passes)]),
        "problems": ("gauge", [("", len(status.problems))]),
        "runs": ("gauge", [("", len(runs))]),
        "points": ("gauge", [("", sum(t.num_rows for run in runs.values() for t in run.tables))]),
        "request_seconds": ("summary", []),
        "plugin_faults_total": ("counter", []),
    }
    for plugin in (each.plugin for each in mounted):
        faults = f'{{plugin="{plugin.name}"}}', plugin.stats.num_faults
        figures["plugin_faults_total"][1].append(faults)
        for timing in plugin.stats.as_json()["timings"]:
            what = timing["what"].replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
            labels = f'{{plugin="{plugin.name}",call="{what}"}}'
            for name, value in (("_sum", timing["total"]), ("_count", timing["count"])):
                figures["request_seconds"][1].append((name + labels, value))
    lines: list[str] = []
    for name, (kind, values) in figures.items():
        lines.append(f"# TYPE tbcore_{name} {kind}\n")
        lines += [f"tbcore_{name}{labels} {value}\n" for labels, value in values]
    return Response("".join(lines), headers={"content-type": CONTENT_TYPE})
