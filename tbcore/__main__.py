"""The command `tbcore`, and python -m tbcore."""

from __future__ import annotations

import signal
import sys

# Until a server installs its own handler, Ctrl-C ends the process silently. A KeyboardInterrupt
# during an import would print a traceback, or be caught and lost there.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from tbcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
