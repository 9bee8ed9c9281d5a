"""Configurations of ssh mean what ssh itself says that they mean."""

from __future__ import annotations

import hmac
import re
import shutil
import subprocess
import tempfile
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tbcore_remote import ssh_files
from tbcore_remote.ssh_files import SshError, SshHost

SSH = shutil.which("ssh")
SSH_KEYGEN = shutil.which("ssh-keygen")

HOSTS = ("a", "ab", "b.example", "c")
PATTERNS = st.sampled_from(
    ["a", "ab", "b.example", "c", "a*", "*", "?", "??", "*.example", "!a", "!*b", "!c", "[a]"]
)
USERS = st.sampled_from(["alice", "bob", "corp\\carol"])
VALUES = {
    "HostName": st.sampled_from(["%h", "%h.example", "b.example", "10.0.0.1", "x%%y", "::1"]),
    "Port": st.integers(1, 65535).map(str),
    "User": USERS,
    "HostKeyAlias": st.sampled_from(["alias", "a", "*"]),
    "IdentityFile": st.sampled_from(
        ["~/.ssh/one", '"/k/with space"', "/k/with\\ space", "/k/%h_%r", '/k/"it\'s"', "rel"]
    ),
    "UserKnownHostsFile": st.sampled_from(["/k/one", "/k/one /k/two", '"/k/with space" /k/#2']),
    "GlobalKnownHostsFile": st.sampled_from(["/k/three", "/k/four /k/three"]),
    "ProxyJump": st.sampled_from(["none", "jump", "me@jump:22"]),
    "ProxyCommand": st.sampled_from(["none", "nc %h %p"]),
    "ForwardAgent": st.sampled_from(["yes", "no"]),
}
CRITERIA = st.one_of(
    st.sampled_from(["final", "!final", "canonical", "!canonical"]),
    st.builds(
        "{}{} {}".format,
        st.sampled_from(["", "!"]),
        st.sampled_from(["host", "originalhost", "HOST"]),
        st.lists(PATTERNS, min_size=1, max_size=3).map(",".join),
    ),
    st.builds("{} {}".format, st.sampled_from(["user", "!user"]), st.sampled_from(["alice", "b*"])),
)


@st.composite
def settings(draw: st.DrawFn) -> str:
    word = draw(st.sampled_from(sorted(VALUES)))
    separator = draw(st.sampled_from([" ", "=", " = ", "\t", "  "]))
    spelled = draw(st.sampled_from([word, word.lower(), word.upper()]))
    # ssh takes the whole line as the value of these.
    comment = "" if word.startswith("Proxy") else draw(st.sampled_from(["", "", " # Port 1", " "]))
    return f"{spelled}{separator}{draw(VALUES[word])}{comment}"


LINES = st.builds(
    "{}{}".format,
    st.sampled_from(["", "  ", "\t"]),
    st.one_of(
        settings(),
        settings(),
        st.lists(PATTERNS, min_size=1, max_size=3).map(lambda each: f"Host {' '.join(each)}"),
        st.lists(CRITERIA, min_size=1, max_size=2).map(lambda each: f"Match {' '.join(each)}"),
        st.sampled_from(["Match all", "Match final all", "match ALL # all"]),
        st.sampled_from(["Include FOLDER/1*", "Include FOLDER/2 FOLDER/none", "Include FOLDER/?"]),
        st.sampled_from(["", "# Port 2", "\t#"]),
    ),
)
FILES = st.tuples(
    st.lists(LINES, max_size=12),
    st.lists(LINES.filter(lambda line: "Include" not in line), max_size=6),
    st.lists(LINES.filter(lambda line: "Include" not in line), max_size=6),
)
"""The lines of a configuration, and of two files that it may include."""


def meaning_for_ssh(config: Path, *options: str) -> dict[str, list[str]]:
    """The values of each word for a host, by the program itself, which connects to nothing."""
    command = [SSH or "ssh", "-G", "-F", str(config), *options]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    values: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        word, _, value = line.partition(" ")
        values.setdefault(word, []).append(value)
    return values


@pytest.mark.skipif(SSH is None, reason="there is no ssh to compare with")
@given(
    files=FILES, host=st.sampled_from(HOSTS), user=USERS | st.none(), port=st.just(77) | st.none()
)
def test_configurations_mean_what_they_mean_for_ssh(
    files: tuple[list[str], ...], host: str, user: str | None, port: int | None
) -> None:
    """For each host: address, user, port, files, and whether ssh would run a program to connect."""
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in zip(("config", "1", "2"), files, strict=True):
            text = "".join(f"{line}\n" for line in lines).replace("FOLDER", folder)
            (Path(folder) / name).write_text(text)
            note(f"--- {name}\n{text}")
        config = Path(folder) / "config"
        given_user = ("-l", user) if user else ()
        given_port = ("-p", str(port)) if port else ()
        expected = meaning_for_ssh(config, *given_user, *given_port, host)
        is_direct = not {"proxyjump", "proxycommand"} & expected.keys()
        files_of_host = {str(config): folder}
        if not is_direct:
            with pytest.raises(SshError, match="which only ssh itself can use"):
                SshHost(host, user, port, files_of_host)
            return
        found = SshHost(host, user, port, files_of_host)
    assert [found.address] == expected["hostname"]
    assert [found.user] == expected["user"]
    assert [str(found.port)] == expected["port"]
    values = found._values
    assert values.get("hostkeyalias") == expected.get("hostkeyalias")
    for word in ("userknownhostsfile", "globalknownhostsfile", "identityfile"):
        if word in values:
            assert " ".join(values[word]) == " ".join(expected[word])


KEYS = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA",
)
NAMES = ("a", "a.example", "[a.example]:2222", "10.0.0.1", "[::1]:77", "::1")
NAME_PATTERNS = st.sampled_from(
    [*NAMES, "*", "?", "*.example", "[*]:2222", "[a*:*", "10.0.?.*", "A.Example", "[a-z]", "*a"]
)


def hashed(name: str) -> str:
    """A name as ssh hashes it."""
    salt = bytes(range(20))
    digest = hmac.digest(salt, name.encode(), "sha1")
    return f"|1|{b64encode(salt).decode()}|{b64encode(digest).decode()}"


KNOWN_HOSTS_LINES = st.one_of(
    st.sampled_from(["", "# a ssh-ed25519 AAAA", "a", "a ssh-ed25519", "@revoked a", "|1|a|b a b"]),
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["", "", " ", "@revoked ", "@cert-authority ", "@revoked @revoked "]),
        st.one_of(
            st.lists(
                st.builds("{}{}".format, st.sampled_from(["", "", "!"]), NAME_PATTERNS),
                min_size=1,
                max_size=4,
            ).map(",".join),
            st.sampled_from(NAMES).map(hashed),
        ),
        st.sampled_from([" ", "\t", "  "]),
        st.sampled_from(KEYS),
        st.sampled_from(["", " a comment", " "]),
    ),
)


@pytest.mark.skipif(SSH_KEYGEN is None, reason="there is no ssh-keygen to compare with")
@given(lines=st.lists(KNOWN_HOSTS_LINES, max_size=8), name=st.sampled_from(NAMES))
def test_known_hosts_are_those_that_ssh_finds(lines: list[str], name: str) -> None:
    """The lines for a name, with their markers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "known_hosts"
        path.write_text("".join(f"{line}\n" for line in lines))
        command = [SSH_KEYGEN or "", "-F", name, "-f", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        pattern = r"^# Host .* found: line (\d+) ?(CA|REVOKED)?$"
        marks = {"CA": "cert-authority", "REVOKED": "revoked", "": None}
        expected = [
            (f"line {number} of {path}", marks[mark])
            for number, mark in re.findall(pattern, done.stdout, re.MULTILINE)
        ]
        found = ssh_files._known_keys(name, [str(path)])
        assert [(key.where, key.marker) for key in found] == expected


def test_no_file_is_none_and_not_a_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working directory may be a folder that somebody downloaded."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none").write_text("host ssh-ed25519 AAAA\n")
    config = tmp_path / "config"
    config.write_text("UserKnownHostsFile none\nGlobalKnownHostsFile NONE\nIdentityFile none\n")
    host = SshHost("host", config_files={str(config): str(tmp_path)})
    assert host.known_keys() == []
    assert host.paths("identityfile") == []
    assert host.has("identityfile")
