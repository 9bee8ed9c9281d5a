"""Hyperparameters of each session, and its results."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import Multiplexer, Option, PluginInfo, PluginOptions, hookimpl
from tbcore_hparams.experiment import MAX_CHOICES
from tbcore_hparams.logged import CLAIMS
from tbcore_hparams.routes import make_routes

_KERAS = """\
# pip install tensorflow tensorboard
from tensorboard.plugins.hparams import api as hp

hparams = {"lr": 1e-3, "optimizer": "adam"}
model.fit(..., callbacks=[
    tf.keras.callbacks.TensorBoard(logdir),  # a directory for each run
    hp.KerasCallback(logdir, hparams),
])"""
_PYTORCH = """\
# pip install torch tensorboard
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter(logdir)  # a directory for each run
writer.add_hparams({"lr": 1e-3, "optimizer": "adam"}, {"val/accuracy": accuracy})"""


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="HParams",
        claims=CLAIMS,
        samples=1000,
        order=90,
        description="Hyperparameters and metrics of all sessions.",
        how_to_log={"TensorFlow, Keras": _KERAS, "PyTorch": _PYTORCH},
        options=(
            Option(
                "max_choices",
                default=MAX_CHOICES,
                minimum=0,
                help="List a hyperparameter's strings as choices if there are at most this many.",
            ),
        ),
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, options.samples, options.values["max_choices"])
