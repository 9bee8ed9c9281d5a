"""Custom scalars: charts that combine several tags, as defined by the runs."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import Claim, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore_custom_scalars.routes import make_routes

LAYOUTS = (Claim("tensor", plugin_name="custom_scalars", is_scalar=False),)
SCALARS = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))
"""The data that charts show. The scalars plugin need not be installed."""

HOW_TO_LOG = {
    "PyTorch": "# pip install torch tensorboard\n"
    "from torch.utils.tensorboard import SummaryWriter\n\n"
    'with SummaryWriter("runs/first") as writer:\n'
    "    writer.add_custom_scalars(\n"
    "        {\n"
    '            "Losses": {"train and eval": ["Multiline", ["loss/train", "loss/eval"]]},\n'
    '            "Price": {"range": ["Margin", ["price", "price/low", "price/high"]]},\n'
    "        }\n"
    "    )\n",
    "TensorFlow": "# pip install tensorflow tensorboard\n"
    "import tensorflow as tf\n"
    "from tensorboard.plugins.custom_scalar import layout_pb2, summary\n\n"
    'multiline = layout_pb2.MultilineChartContent(tag=["loss/.*"])\n'
    'chart = layout_pb2.Chart(title="train and eval", multiline=multiline)\n'
    'category = layout_pb2.Category(title="Losses", chart=[chart])\n'
    'with tf.summary.create_file_writer("runs/first").as_default():\n'
    "    layout = summary.pb(layout_pb2.Layout(category=[category]))\n"
    "    tf.summary.experimental.write_raw_pb(layout.SerializeToString(), step=0)\n",
}


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Custom Scalars",
        claims=(*LAYOUTS, *SCALARS),
        samples=1000,
        order=15,
        api=1,
        description="Charts that combine several tags, as defined by the runs.",
        how_to_log=HOW_TO_LOG,
    )


@hookimpl
def is_active(multiplexer: Multiplexer) -> bool:
    return multiplexer.has(LAYOUTS)


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, LAYOUTS, SCALARS, options.samples)
