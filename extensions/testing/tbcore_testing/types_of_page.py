"""The types of the page's modules, which TypeScript reads: one `.d.ts` for each module.

`dev.py wheels` makes them from the comments in the modules, and puts them into the wheel. In a
checkout they are made when they are asked for.
"""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tbcore import TbcoreError

TYPES = Path(__file__).parent / "types"
CHECKOUT = Path(inspect.getfile(TbcoreError)).parents[1]
"""Where the core is, which is a checkout if it was installed with `pip install -e`."""


def write_types(project: Path, types: Path = TYPES) -> Path:
    """Writes the types to the folder `types/tbcore` of a project, and returns that folder.

    Raises TbcoreError if there are none and the checkout has no TypeScript to make them, and if the
    folder cannot be written.
    """
    with tempfile.TemporaryDirectory() as made:
        if not types.is_dir() and make_in_checkout(Path(made)):
            return write_types(project, Path(made))
    if not types.is_dir():
        raise TbcoreError(
            "this installation of tbcore-testing has no types, which only its wheel has; in a "
            "checkout, `npm ci` installs what makes them, and `python3 dev.py wheels` makes a wheel"
        )
    folder = project / "types" / "tbcore"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(types, folder)
    except OSError as error:
        raise TbcoreError(f"{str(folder)!r} cannot be written: {error.strerror or error}") from None
    return folder


def make_in_checkout(folder: Path, checkout: Path = CHECKOUT) -> bool:
    """Makes the types of a checkout with TypeScript in `node_modules`; whether it is one."""
    tools = checkout / "tests" / "shared"
    if not (checkout / "node_modules" / "typescript").is_dir() or not tools.is_dir():
        return False
    code = "import sys, pathlib, wheels; wheels.make_types(*map(pathlib.Path, sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(checkout), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(tools)}
    return subprocess.run(command, env=environment, check=False).returncode == 0
