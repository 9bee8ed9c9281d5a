"""Classes of TensorBoard and tbparse for reading logs: a script only needs another import line.

    from tbcore_compat import EventAccumulator, EventMultiplexer    # TensorBoard's
    from tbcore_compat import event_accumulator, event_multiplexer  # its modules
    from tbcore_compat import program                               # program.TensorBoard()
    from tbcore_compat import SummaryReader                         # tbparse's

They have the names, arguments and results of the originals, and read logs with `tbcore_logs`: no
value is dropped, and scalars that were logged as tensors are scalars, too. New scripts are shorter
with `tbcore.open`.
"""

from tbcore_compat import event_accumulator, event_multiplexer, program
from tbcore_compat.event_accumulator import EventAccumulator
from tbcore_compat.event_multiplexer import EventMultiplexer
from tbcore_compat.summary_reader import SummaryReader

__all__ = [
    "EventAccumulator", "EventMultiplexer", "SummaryReader", "event_accumulator",
    "event_multiplexer", "program",
]  # fmt: skip
