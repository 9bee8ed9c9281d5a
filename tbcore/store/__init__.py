"""The store: what was read from event files, and the questions that it answers.

eventfiles  ->  reader, run  ->  view  ->  multiplexer  ->  plugins
                (loader's thread,          (any thread)
                 or assistant's process)
"""

from __future__ import annotations

from tbcore.store.multiplexer import Multiplexer

__all__ = ["Multiplexer"]
