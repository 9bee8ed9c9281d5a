"""Graphs: the operations of a model, scope by scope, with their time and memory."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import LegacyApi, Multiplexer, Option, PluginInfo, PluginOptions, hookimpl
from tbcore_graphs.routes import make_legacy_api, make_routes
from tbcore_graphs.sources import CLAIMS

_PYTORCH = """\
# pip install torch tensorboard
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter(logdir)
writer.add_graph(model, inputs)  # example inputs of the model
writer.close()"""
_KERAS = """\
# pip install tensorflow tensorboard
model.fit(x, y, callbacks=[keras.callbacks.TensorBoard(logdir)])"""


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Graphs",
        claims=CLAIMS,
        order=40,
        description="The operations of a model, scope by scope, with their time and memory.",
        how_to_log={"PyTorch": _PYTORCH, "Keras": _KERAS},
        options=(
            Option(
                "memory_mb",
                default=512,
                minimum=0,
                help="Megabytes of memory for recently viewed graphs; others are read again.",
            ),
        ),
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, graph_bytes=options.values["memory_mb"] << 20)


@hookimpl
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:
    return make_legacy_api(multiplexer)
