"""Notebooks: shows the charts of a log directory below a cell.

    %load_ext tbcore_jupyter
    %tbcore --logdir runs

`show` does the same in Python. The server is a child of the kernel, and ends with it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import Any

from tbcore import TbcoreError
from tbcore_jupyter.frame import DEFAULT_HEIGHT, Frame
from tbcore_jupyter.servers import COMMAND, server_for

__all__ = ["Frame", "load_ipython_extension", "show"]


def show(
    logdir: str | os.PathLike[str], *options: str, view: str = "", height: int = DEFAULT_HEIGHT
) -> Frame:
    """The page of a log directory, as an object that notebooks show in a frame below the cell.

    `options` are those of `tbcore serve`, such as `"--reload_interval=1"`. `view` is what the page
    shows at first: the name of a tab, or an address of the page, of which only the part after `#`
    counts. `height` is in pixels.

    The server of an earlier call with the same arguments, in the same working directory, is used
    again. Raises TbcoreError, with one line, if the server cannot start.
    """
    return Frame(server_for(["--logdir", os.fspath(logdir), *options]), view=view, height=height)


def load_ipython_extension(ipython: Any) -> None:
    """Adds `%tbcore` to IPython; called by `%load_ext tbcore_jupyter`."""
    ipython.register_magic_function(_tbcore, "line", "tbcore")


def _tbcore(line: str) -> Frame | None:
    """Shows the charts of a log directory: `%tbcore --logdir runs`, with options of `serve`."""
    try:
        arguments = shlex.split(line)
        if {"-h", "--help"} & set(arguments):
            command = [*COMMAND, "--help"]
            print(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
            return None
        return Frame(server_for(arguments))
    except (TbcoreError, ValueError) as error:
        from IPython.core.error import UsageError  # is shown without a traceback

        raise UsageError(str(error)) from None
