"""The classes that scripts read logs with, so that one import line is all that changes in a script.

    from tbcore.compat import EventAccumulator, EventMultiplexer    # TensorBoard's
    from tbcore.compat import event_accumulator, event_multiplexer  # its modules
    from tbcore.compat import SummaryReader                         # tbparse's

They have the names, arguments and results of the originals, and read with `tbcore.logs`: all values
are there, and scalars that were logged as tensors are scalars, too. New scripts are shorter with
`tbcore.open`.
"""

from tbcore.compat import event_accumulator, event_multiplexer
from tbcore.compat.event_accumulator import EventAccumulator
from tbcore.compat.event_multiplexer import EventMultiplexer
from tbcore.compat.summary_reader import SummaryReader

__all__ = [
    "EventAccumulator", "EventMultiplexer", "SummaryReader", "event_accumulator",
    "event_multiplexer",
]  # fmt: skip
