"""PR Curves: precision-recall curves of classifiers, at every step."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import Claim, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore_pr_curves.routes import make_routes

CLAIMS = (Claim("tensor", plugin_name="pr_curves", is_scalar=False),)


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="PR Curves",
        claims=CLAIMS,
        samples=100,
        order=80,
        api=1,
        description="Precision-recall curves of classifiers, at every step.",
        how_to_log={
            "PyTorch": "# pip install torch tensorboard\n"
            "from torch.utils.tensorboard import SummaryWriter\n\n"
            'with SummaryWriter("runs/first") as writer:\n'
            '    writer.add_pr_curve("cats", labels, predictions, global_step=step)\n',
        },
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS, options.samples)
