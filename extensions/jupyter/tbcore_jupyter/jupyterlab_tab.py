"""tbcore in a tab of JupyterLab, opened by its icon, through jupyter-server-proxy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tbcore_jupyter.servers import COMMAND

START_TIMEOUT_SECONDS = 30


def server() -> dict[str, Any]:
    """How jupyter-server-proxy starts the server of a user, and shows its icon.

    The server has the logs that `TBCORE_LOGDIR`, `TBCORE_LOGDIR_SPEC` or `TBCORE_INDEX` names, or
    else those below the working directory of Jupyter. It listens on a socket that only this user
    can connect to, so any name in the browser's address is right, and no token is needed; Jupyter
    has asked who is there.
    """
    command = [*COMMAND, "--uds", "{unix_socket}", "--allowed_host", "*", "--no_token"]
    if not any(os.environ.get(f"TBCORE_{name}") for name in ("LOGDIR", "LOGDIR_SPEC", "INDEX")):
        command += ["--logdir", "."]
    return {
        "command": command,
        # Meant for other servers: the proxy asks for `/`. An empty variable counts as not set.
        "environment": dict.fromkeys(
            ("TBCORE_PATH_PREFIX", "TBCORE_SECRET_PREFIX", "TBCORE_EMBED_IN"), ""
        ),
        "unix_socket": True,
        "timeout": START_TIMEOUT_SECONDS,
        "new_browser_tab": False,
        "launcher_entry": {
            "title": "tbcore",
            "icon_path": str(Path(__file__).with_name("icon.svg")),
        },
    }
