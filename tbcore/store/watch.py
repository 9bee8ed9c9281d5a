"""Watching: being told of changed files, where the system can tell.

Only a hint that looking is worth while now. Not all file systems tell, and links are not followed,
so the loader looks at fixed intervals all the same.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence

from tbcore.eventfiles.logdir import one_line

logger = logging.getLogger(__name__)

_QUIET_MS = 50
"""After a change, how long to wait whether another one follows."""
_MAX_DELAY_MS = 100
"""Until it is told, however many follow."""


def watch(
    paths: Sequence[str], wake: threading.Event, stopping: threading.Event
) -> threading.Thread | None:
    """Set `wake` whenever a file below the directories changes, until `stopping` is set.

    Returns the daemon thread that does this; None when none of the directories exists. When the
    system refuses, the thread logs the reason and ends.
    """
    existing = [path for path in paths if os.path.isdir(path)]
    if not existing:
        return None

    def run() -> None:
        try:
            # Not at the top: the server starts before files need to be watched.
            import watchfiles

            for _ in watchfiles.watch(
                *existing,
                watch_filter=None,
                stop_event=stopping,
                step=_QUIET_MS,
                debounce=_MAX_DELAY_MS,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                wake.set()
        except Exception as error:
            # Most often the limit of watched directories, which other programs use up too.
            logger.info("%s", one_line(f"changes of files are not watched: {error}"))

    thread = threading.Thread(target=run, name="tbcore-watch", daemon=True)
    thread.start()
    return thread
