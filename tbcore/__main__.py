"""python -m tbcore"""

from __future__ import annotations

import sys

from tbcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
