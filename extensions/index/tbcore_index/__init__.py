"""An index for tbcore: the data of many runs, read once, so that a server can show it immediately.

tbcore index LOGDIR --index INDEX     makes or updates an index
tbcore serve --index INDEX                     serves it
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbcore.engine import LogdirSpec, RunIndex
    from tbcore_logs.checks import CheckReport


def open(path: str, *, is_server: bool = False, logdirs: Sequence[str] = ()) -> RunIndex:
    """Opens an index. Raises TbcoreError if there is none. The user has confirmed `logdirs`."""
    if is_server:
        # Arrow's own allocator keeps some megabytes per thread that has read from the index.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from tbcore_index.reader import IndexReader

    return IndexReader(path, is_server=is_server, logdirs=logdirs)


def is_index(path: str) -> bool:
    """Whether there is an index at a path. Raises DataError if this cannot be determined."""
    from tbcore.engine import is_uri

    if not is_uri(path):
        return os.path.isdir(os.path.join(path, "runs", "_delta_log"))
    from tbcore.engine import OptionError
    from tbcore_index.tables import Place

    try:
        Place(path).delta("runs")
    except OptionError:
        return False
    return True


def check(path: str, specs: Sequence[LogdirSpec]) -> CheckReport:
    """Reads a whole index, and compares it with the logs below `specs`."""
    from tbcore_index.checks import check_index

    return check_index(path, specs)
