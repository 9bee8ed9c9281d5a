"""Text: the texts that training runs log, at every step."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import Claim, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore_text.routes import make_routes

CLAIMS = (Claim("tensor", plugin_name="text", is_scalar=False),)


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Text",
        claims=CLAIMS,
        samples=100,
        order=70,
        api=1,
        description="The texts that training runs log, at every step.",
        how_to_log={
            "PyTorch": "# pip install torch tensorboard\n"
            "from torch.utils.tensorboard import SummaryWriter\n\n"
            'with SummaryWriter("runs/first") as writer:\n'
            '    writer.add_text("samples", "The *first* sentence.", global_step=step)\n',
            "TensorFlow": "# pip install tensorflow tensorboard\n"
            "import tensorflow as tf\n\n"
            'with tf.summary.create_file_writer("runs/first").as_default():\n'
            '    tf.summary.text("samples", "The *first* sentence.", step=step)\n',
        },
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS, options.samples)
