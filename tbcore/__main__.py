"""The command `tbcore`, and python -m tbcore."""

from __future__ import annotations

import signal
import sys

# Until a server has a handler of its own, Ctrl-C ends the process without a word. As an exception
# it would end some import with a traceback, or be lost in one that goes on in spite of it.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from tbcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
