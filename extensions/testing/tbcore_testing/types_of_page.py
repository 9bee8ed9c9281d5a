"""The types of the page's modules, which TypeScript reads: one `.d.ts` for each module.

`dev.py wheels` makes them from the comments in the modules, and puts them into the wheel. A
checkout has none.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tbcore import TbcoreError

TYPES = Path(__file__).parent / "types"


def write_types(project: Path, types: Path = TYPES) -> Path:
    """Writes the types to the folder `types/tbcore` of a project, and returns that folder.

    Raises TbcoreError in a checkout, which has none, and if the folder cannot be written.
    """
    if not types.is_dir():
        raise TbcoreError(
            "this installation of tbcore-testing has no types, which only its wheel has; in a "
            "checkout, `python3 dev.py wheels` makes one in dist/"
        )
    folder = project / "types" / "tbcore"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(types, folder)
    except OSError as error:
        raise TbcoreError(f"{str(folder)!r} cannot be written: {error.strerror or error}") from None
    return folder
