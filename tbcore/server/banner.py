"""Banner: what `serve` prints when it has started, and the page that it opens."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tbcore import __version__
from tbcore.errors import TbcoreError
from tbcore.plugins.config import DEFAULT_PORT, Config
from tbcore.server.listen import LOCALHOST, Listening
from tbcore.server.login import private_file
from tbcore.server.report import Reporter, no_plugins_hint

if TYPE_CHECKING:
    from tbcore.server.serve import ServeOptions

logger = logging.getLogger(__name__)

TENSORBOARD_VERSION = "2.21.0"
"""The version of TensorBoard whose options are those of this command."""
_OPEN_SECONDS = 10
"""How long a browser has to open a file with a secret address."""


def write_token_file(config: Config, options: ServeOptions, listening: Listening) -> str | None:
    """Writes the address with the token to a file that only this user can read; returns the path.

    That with the token for notes is always in one, where `tbcore notes address` finds it; another
    one if others may be able to read what is printed: the output may be a log in a shared directory
    if it is not a terminal. None if no file is needed. The error of `private_file` is only logged
    if the token is for notes alone.
    """
    has_new_token = config.token is not None and not options.token and not is_on_terminal(config)
    if not (has_new_token or config.write_token):
        return None
    try:
        return private_file(f"{_url(config, listening, config.token)}\n", f"-{listening.port}-")
    except TbcoreError as error:
        if has_new_token:
            raise
        logger.warning("notes cannot be changed in the page: %s", error)
        return None


def output(config: Config) -> TextIO | None:
    """Where lines about the start are printed."""
    return sys.stderr if config.program == "tensorboard" else sys.stdout


def is_on_terminal(config: Config) -> bool:
    """Whether only this user sees what is printed about the start."""
    out = output(config)
    return out is not None and out.isatty()


def _url(config: Config, listening: Listening, token: str | None) -> str:
    return listening.url(f"{config.path_prefix}/", token) + _fragment(config)


def _fragment(config: Config) -> str:
    """The fragment of an address that gives the page the write token."""
    return f"#write={config.write_token}" if config.write_token else ""


def print_banner(
    reporter: Reporter,
    config: Config,
    listening: Listening,
    options: ServeOptions,
    token_file: str | None,
    *,
    has_plugins: bool,
) -> str:
    """Prints the server's address and starts the reporter. Called when the server has started.

    The address is in the last line before those of the reporter, where programs search for it.
    Returns the address that this user's browser opens, with all secrets.
    """
    prefix = config.path_prefix
    if is_on_terminal(config):
        token_file = None  # The address is printed.
    token = None if options.token or token_file is not None else config.token
    if config.token and options.token:
        reporter.print_line("requests need the given token")
    elif token_file is not None:
        use = "with its token" if config.token else "for changing notes"
        reporter.print_line(f"the address {use} is in {token_file}")
    if config.read_token:
        reporter.print_line("the read token shows everything, and changes no notes")
    if config.notes != "write":
        reporter.print_line(f"--notes {config.notes}: the page changes no notes")
    if config.has_secret_prefix and not is_on_terminal(config):
        prefix = prefix.rpartition("/")[0]
        reporter.print_line(f"the server is below the secret path in {options.secret_prefix}")
    if options.port is None and listening.port not in (0, DEFAULT_PORT):  # 0: a unix socket
        reporter.print_line(f"port {DEFAULT_PORT} is in use; using port {listening.port}")
    is_open = listening.reach == "network" or (
        "*" in config.allowed_hosts and listening.reach != "user"
    )
    if is_open and config.token is None and not config.has_secret_prefix:
        logger.warning("anyone who can reach this machine can read these logs (--no_token)")
    if not has_plugins:
        reporter.print_line(no_plugins_hint())
    if {"0.0.0.0", "::"} & {s.getsockname()[0] for s in listening.sockets}:
        reporter.print_line(f"from other machines: {listening.url(f'{prefix}/', token)}")
        listening = listening._replace(host=LOCALHOST)
    name = f"tbcore {__version__}"
    if config.program == "tensorboard":
        name = f"TensorBoard {TENSORBOARD_VERSION} (served by {name})"
    url = listening.url(f"{prefix}/", token) + ("" if token_file else _fragment(config))
    reporter.print_line(f"{name} at {url} (Press CTRL+C to quit)")
    reporter.start()
    return _url(config, listening, config.token)


def open_page(url: str, leftovers: list[Callable[[], object]] | None) -> None:
    """Opens a page; a secret one, for which there are `leftovers`, by a file, since others can see
    the browser's command line."""
    import webbrowser

    if leftovers is None:
        webbrowser.open(url)
        return
    path = private_file(f'<meta http-equiv="refresh" content="0; url={url}">', "-open-", ".html")
    leftovers.append(partial(os.unlink, path))
    try:
        webbrowser.open(Path(path).as_uri())
        time.sleep(_OPEN_SECONDS)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
