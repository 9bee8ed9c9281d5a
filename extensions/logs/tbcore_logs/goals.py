"""Whether low or high values of a metric are better, by the words of its name.

tbcore/web/lib/goals.js is the same for the page, and tests/goals.json has what both must do.
"""

from __future__ import annotations

import re
from typing import Literal

_LOWER_IS_BETTER = re.compile(
    "loss|losses|err|error|errors|cost|perplexity|ppl|nll|bce|mse|rmse|mae|mape|smape|kl|"
    "divergence|fid|kid|lpips|wer|cer|ter|eer|regret|brier|energy|latency|time|seconds|duration|"
    "distance"
)
_HIGHER_IS_BETTER = re.compile(
    "acc|accuracy|reward|rewards|return|returns|score|scores|auc|auroc|auprc|roc|f1|f2|fbeta|"
    "precision|recall|map|ap|iou|miou|dice|psnr|ssim|bleu|rouge|meteor|cider|mrr|ndcg|hit|hits|r2|"
    "success|win|winrate|elo|top1|top5|throughput|fps|likelihood|specificity|sensitivity|kappa|mcc|"
    "purity|correlation"
)
_OF_SOMETHING_ELSE = {
    "scale", "weight", "coef", "coefficient", "std", "stddev", "var", "variance", "norm", "count",
    "num",
}  # fmt: skip
"""Words after which a name is not that of what is optimised: `loss_scale`, `return_std`."""
_OF_LAST_PART = {"energy", "latency", "time", "seconds", "duration", "distance"}
"""What only the last part of a path says: `time/iterations` is no time."""


def guess_goal(name: str) -> Literal["min", "max"] | None:
    """The goal that the last known word of a name suggests; None if no word is known."""
    last = _words(name.rpartition("/")[2])
    if not _OF_SOMETHING_ELSE.isdisjoint(last):
        return None
    words = _words(name)
    for word in (word for each in reversed(words) for word in (each, each.rstrip("0123456789"))):
        is_meant = word in last or word not in _OF_LAST_PART
        if is_meant and _LOWER_IS_BETTER.fullmatch(word):
            return "min"
        if _HIGHER_IS_BETTER.fullmatch(word):
            return "max"
    return None


def _words(name: str) -> list[str]:
    return re.split("[^a-z0-9]+", re.sub("([a-z])([A-Z])", r"\1 \2", name).lower())
