"""tbcore in a tab of JupyterLab, opened by its icon, through jupyter-server-proxy."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

START_TIMEOUT_SECONDS = 30


def server() -> dict[str, Any]:
    """How jupyter-server-proxy starts the server of a user, and shows its icon.

    The server has the logs of the directory in `TBCORE_LOGDIR`, or else below the working directory
    of Jupyter. It listens on a socket that only this user can connect to, so any name in the
    browser's address is right, and no token is needed; Jupyter has asked who is there.
    """
    command = [sys.executable, "-P", "-m", "tbcore", "serve", "--exit_with_parent"]
    command += [] if os.environ.get("TBCORE_LOGDIR") else ["--logdir", "."]
    command += ["--uds", "{unix_socket}", "--allowed_host", "*", "--no_token"]
    return {
        "command": command,
        "unix_socket": True,
        "timeout": START_TIMEOUT_SECONDS,
        "new_browser_tab": False,
        "launcher_entry": {
            "title": "tbcore",
            "icon_path": str(Path(__file__).with_name("icon.svg")),
        },
    }
