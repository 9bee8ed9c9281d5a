"""The hooks: the page of TensorBoard, and a tab for each of its installed plugins."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from weakref import WeakKeyDictionary, WeakSet

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claim, Multiplexer, Option, PluginInfo, PluginOptions, hookimpl
from tbcore.engine import declared
from tbcore.http import json_response
from tbcore_tensorboard.process import HostedProcess

FILES = {
    "profile": "plugins/profile/*/*.xplane.pb",
    "projector": "projector_config.pbtxt",
    "torch_profiler": "*.pt.trace.json",
}
"""The files that make a plugin active which reads no series. What jax writes has no event file
beside it, so it belongs to no run."""
HOW_TO_LOG = {
    "profile": {
        "JAX": "# pip install jax\nimport jax\n\n"
        "jax.profiler.start_trace('runs/a')\n...\njax.profiler.stop_trace()",
    },
    "projector": {
        "PyTorch": "# pip install torch tensorboard\n"
        "from torch.utils.tensorboard import SummaryWriter\n\n"
        "writer = SummaryWriter('runs/a')\nwriter.add_embedding(vectors, metadata=labels)",
    },
}
NEED_EVAL = ("projector",)
OPTIONS = [
    Option("memory", default=4096, minimum=256, help="Maximum memory of each process, in MB."),
    Option(
        "unconfined",
        default=False,
        help="Whether processes also start where the system cannot limit what they read, write and "
        "connect to.",
    ),
]

_options: WeakKeyDictionary[Multiplexer, PluginOptions] = WeakKeyDictionary()
"""The options of `tensorboard` on each server, which are those of all its tabs."""
_pages: WeakSet[HostedProcess] = WeakSet()
"""The processes of `/tensorboard/`, one for each server."""


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="TensorBoard",
        description="TensorBoard's own page over this data, in a process of its own.",
        module=None,
        order=95,
        page_allows=["frames"],
        options=OPTIONS,
        api=1,
    )


@hookimpl
def is_active() -> bool:
    return importlib.util.find_spec("tensorboard") is not None


@hookimpl
def page_routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    _options[multiplexer] = options
    missing = "" if is_active() else "it is not installed: pip install tensorboard"
    page = HostedProcess("TensorBoard", None, multiplexer, lambda: options, missing)
    _pages.add(page)
    return _proxy_routes(page)


@hookimpl
def close() -> None:
    for page in list(_pages):
        page.stop()


@hookimpl
def plugins() -> Mapping[str, object]:
    found: dict[str, object] = {}
    for entry in declared("tensorboard_plugins"):
        name = "tb-" + re.sub(r"[^a-z0-9_.-]", "-", entry.name.lower())
        found.setdefault(name, _tab(entry))
    return found


def _tab(entry: EntryPoint) -> object:
    """The tab of one plugin of TensorBoard, as a plugin of tbcore."""
    source = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
    files = FILES.get(entry.name)
    claims = [Claim(files=f"**/{files}") if files else Claim(plugin_name=entry.name)]
    info = PluginInfo(
        title=entry.name.replace("_", " ").title(),
        description=f"A plugin of TensorBoard ({source}), in a process of its own. Its options "
        "are those of the plugin tensorboard."
        + (f" It shows files such as {files}." if files else ""),
        claims=claims,
        how_to_log=HOW_TO_LOG.get(entry.name, {}),
        order=95,
        page_allows=["frames", *(["eval"] if entry.name in NEED_EVAL else [])],
        api=1,
    )
    made: list[HostedProcess] = []

    def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
        what = f"{entry.name} of {source}"
        missing = "" if options.logdir or not files else "it needs one --logdir on this machine"
        made.append(HostedProcess(what, entry, multiplexer, lambda: _options[multiplexer], missing))
        return [Route("/state", lambda request: json_response(made[0].state()))]

    def close() -> None:
        for process in made:
            process.stop()

    return SimpleNamespace(
        plugin_info=hookimpl(lambda: info, specname="plugin_info"),
        is_active=hookimpl(
            lambda multiplexer: files is None or multiplexer.has(claims), specname="is_active"
        ),
        routes=hookimpl(routes),
        page_routes=hookimpl(lambda: _proxy_routes(made[0]), specname="page_routes"),
        close=hookimpl(close),
    )


def _proxy_routes(process: HostedProcess) -> list[Route]:
    def serve(request: Request) -> Response:
        from tbcore_tensorboard.proxy import forward  # Not when the server starts.

        return forward(process, request, "/" + request.path_params.get("rest", ""))

    return [Route("/", serve), Route("/{rest:path}", serve, methods=["GET", "POST"])]
