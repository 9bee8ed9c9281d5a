"""TensorBoard's `%tensorboard` with tbcore, if the variable TENSORBOARD_BINARY names its program.

The magic starts the program and waits until it finds a file about it in a folder for all users of
the machine. Any of them may write such files, so tbcore itself never reads them.
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tbcore import TbcoreError, __version__
from tbcore.engine import Config

FOLDER = ".tensorboard-info"
"""The name of the folder, in that for temporary files."""
KERNEL = re.compile(r"ipykernel|kernel_launcher|kernel-[^/\0 ]*\.json")
"""Part of the command line of a Jupyter kernel: its module, or the file with its ports."""


def launch(command: Sequence[str]) -> InfoFile | None:
    """What `%tensorboard` needs of a server with these arguments; None if it was not started so."""
    if os.name != "posix" or "TENSORBOARD_BINARY" not in os.environ:
        return None
    return InfoFile(command) if KERNEL.search(_command_line(os.getppid())) else None


class InfoFile:
    """The file about this server, which is there while the server runs."""

    frames = ("http://localhost:*", "http://127.0.0.1:*")
    """The pages of notebooks: the magic does not say on which port they are."""

    def __init__(self, command: Sequence[str]) -> None:
        # In the form in which the magic writes its own arguments, to compare the two.
        key = {
            "arguments": list(command), "configure_kwargs": {}, "working_directory": os.getcwd(),
        }  # fmt: skip
        text = json.dumps(key, sort_keys=True, separators=(",", ":"))
        self._cache_key = base64.b64encode(text.encode()).decode()
        self._name = f"pid-{os.getpid()}.info"
        self._folder = -1
        self._file: tuple[int, int] | None = None
        """Device and inode of the file."""

    def started(self, config: Config) -> None:
        """Writes the file, for this user only.

        Raises TbcoreError if the folder is not one, and OSError if it cannot be written to.
        """
        content = {
            "version": __version__, "start_time": int(time.time()), "pid": os.getpid(),
            "port": config.port, "path_prefix": config.path_prefix, "logdir": config.logdir,
            "db": "", "cache_key": self._cache_key,
        }  # fmt: skip
        self._folder = _open_folder(os.path.join(tempfile.gettempdir(), FOLDER))
        # Not made in the folder: the magic, also that of other users, fails if a file that it has
        # found there is gone before it reads it.
        descriptor, path = tempfile.mkstemp(prefix=".tbcore-info-")
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(content, file)
                found = os.fstat(file.fileno())
            os.rename(path, self._name, dst_dir_fd=self._folder)
        except OSError:
            os.unlink(path)
            raise
        self._file = found.st_dev, found.st_ino

    def ended(self) -> None:
        """Removes the file, if it is still the one that was written."""
        if self._folder < 0:
            return
        with suppress(OSError):
            found = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
            if self._file == (found.st_dev, found.st_ino):
                os.unlink(self._name, dir_fd=self._folder)
        os.close(self._folder)


def _open_folder(path: str) -> int:
    """A descriptor of the folder, which is made for all users, as TensorBoard does, if missing."""
    with suppress(FileExistsError):
        os.mkdir(path)
        os.chmod(path, 0o777)
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise TbcoreError(f"{path} is not a directory, so %tensorboard cannot find this server")
    # Renaming by this descriptor stays in the folder that was looked at.
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _command_line(process: int) -> str:
    """The command line of a process, or "" if it cannot be read."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:  # This system has no /proc.
        command = ["ps", "-o", "args=", "-p", str(process)]
        with suppress(OSError):
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return ""
