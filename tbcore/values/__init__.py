"""Decoders for plugins, which convert the result of `Item.read` into numbers, arrays or text; the
statistics and curves of groups of runs; the rows to draw; and differences between texts.

Most data has two forms on disk: a protobuf field of its own, or a tensor. The functions here accept
both. For any other value they raise DecodeError, with a message that describes the value. Claims
such as IMAGE_CLAIMS match both forms.

Often only the first value of a tag has metadata. So functions that need the metadata take it as an
argument: pass `multiplexer.metadata(run, tag)`. Hyperparameters are logged as metadata only.
"""

from tbcore.kinds import SESSION_START_TAG
from tbcore.values.differences import changed_lines
from tbcore.values.drawing import drawn_rows, outline_rows
from tbcore.values.formats import (
    AUDIO_CLAIMS,
    HISTOGRAM_CLAIMS,
    IMAGE_CLAIMS,
    AudioValue,
    HistogramValue,
    ImageValue,
    Metadata,
    Value,
    audio,
    average_precision,
    bucket_table,
    fields,
    histogram,
    image,
    pr_curve,
    scalar,
    tensor,
    text,
)
from tbcore.values.hyperparameters import (
    SESSION_END_TAG,
    SessionEndValue,
    hparam_text,
    hparam_value,
    hparams_message,
    paths_above,
    session_end,
    session_start,
)
from tbcore.values.means import GroupCurve, common_points, effective_rows, group_curve
from tbcore.values.statistics import (
    MIN_VALUES,
    Average,
    Spread,
    Statistics,
    column_statistics,
    group_statistics,
    t_p_value,
)

__all__ = [
    "AUDIO_CLAIMS", "HISTOGRAM_CLAIMS", "IMAGE_CLAIMS", "MIN_VALUES", "SESSION_END_TAG",
    "SESSION_START_TAG", "AudioValue", "Average", "GroupCurve", "HistogramValue", "ImageValue",
    "Metadata", "SessionEndValue", "Spread", "Statistics", "Value", "audio", "average_precision",
    "bucket_table", "changed_lines", "column_statistics", "common_points", "drawn_rows",
    "effective_rows", "fields", "group_curve", "group_statistics", "histogram", "hparam_text",
    "hparam_value", "hparams_message", "image", "outline_rows", "paths_above", "pr_curve", "scalar",
    "session_end", "session_start", "t_p_value", "tensor", "text",
]  # fmt: skip
