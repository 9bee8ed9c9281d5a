"""The store: the data that was read from event files, and the index over it.

eventfiles  ->  run_reader, run  ->  view  ->  multiplexer  ->  plugins
                (loader's thread,          (any thread)
                 or helper process)
"""

from __future__ import annotations

from tbcore.store.multiplexer import Multiplexer

__all__ = ["Multiplexer"]
