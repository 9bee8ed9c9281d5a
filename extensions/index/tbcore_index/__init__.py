"""An index for tbcore: what many runs logged, read once, and served at once.

tbcore index --logdir LOGDIR --index INDEX     makes or updates an index
tbcore serve --index INDEX                     serves it
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbcore.eventfiles.logdir import LogdirSpec
    from tbcore.store.stored_runs import RunIndex
    from tbcore_logs.checks import CheckReport

__version__ = "0.1.0"


def open(path: str, *, is_server: bool = False, logdirs: Sequence[str] = ()) -> RunIndex:
    """Opens an index. Raises TbcoreError if there is none. The user has confirmed `logdirs`."""
    _check_version()
    if is_server:
        # Arrow's own allocator keeps some megabytes for each thread that has read from the index.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from tbcore_index.reader import IndexReader

    return IndexReader(path, is_server=is_server, logdirs=logdirs)


def is_index(path: str) -> bool:
    """Whether there is an index at a path. Raises DataError if that cannot be found out."""
    from tbcore.eventfiles.logdir import is_remote

    if not is_remote(path):
        return os.path.isdir(os.path.join(path, "runs", "_delta_log"))
    from tbcore.errors import OptionError
    from tbcore_index.tables import Place

    try:
        Place(path).delta("runs")
    except OptionError:
        return False
    return True


def check(path: str, specs: Sequence[LogdirSpec]) -> CheckReport:
    """Reads all of an index, and compares it with the logs below `specs`."""
    _check_version()
    from tbcore_index.checks import check_index

    return check_index(path, specs)


def _check_version() -> None:
    """Raises OptionError unless the core is of the same version: its private modules are used."""
    import tbcore
    from tbcore.errors import OptionError

    if tbcore.__version__ != __version__:
        raise OptionError(
            f"tbcore-index {__version__} needs tbcore-server {__version__}, "
            f"found {tbcore.__version__}; install the same version of both"
        )
