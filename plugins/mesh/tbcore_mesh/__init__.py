"""Mesh: shows meshes and point clouds in three dimensions, at every step."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import Claim, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore_mesh.routes import make_routes

CLAIMS = (Claim("tensor", plugin_name="mesh", is_scalar=False),)

_PYTORCH = """# pip install torch tensorboard
from torch.utils.tensorboard import SummaryWriter

with SummaryWriter("runs/first") as writer:
    # (batch, n, 3) each; colors and faces may be left out.
    writer.add_mesh("shape", vertices, colors, faces, global_step=step)
"""
_TENSORFLOW = """# pip install tensorflow tensorboard
import tensorflow as tf
from tensorboard.plugins.mesh import summary_v2

with tf.summary.create_file_writer("runs/first").as_default():
    # (batch, n, 3) each; colors and faces may be left out.
    summary_v2.mesh("shape", vertices, faces, colors, step=step)
"""


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Mesh",
        claims=CLAIMS,
        samples=100,
        order=35,
        description="Meshes and point clouds in three dimensions, at every step.",
        how_to_log={"PyTorch": _PYTORCH, "TensorFlow": _TENSORFLOW},
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS, options.samples)
