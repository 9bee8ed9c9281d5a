"""SFTP with verified hosts: a host whose key is not known is refused before a login."""

from __future__ import annotations

import shlex
from typing import Any

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem

from tbcore_remote.ssh_files import SshError, SshHost


class VerifiedSftp(SFTPFileSystem):  # type: ignore[misc]
    """A file system over SFTP that connects like ssh with BatchMode, which never prompts the user.

    Raises SshError for a host that ssh would not trust.
    """

    def _connect(self) -> None:
        given = self.ssh_kwargs
        host = SshHost(self.host.strip("[]"), given.get("username"), given.get("port"))
        options = {
            "key_filename": host.paths("identityfile"),
            "look_for_keys": not host.has("identityfile"),
            **given,
        }
        options |= {"port": host.port, "username": host.user}
        self._host, self._known_keys = host, host.known_keys()
        self.client = paramiko.SSHClient()
        self.client.set_missing_host_key_policy(self)
        try:
            self.client.connect(host.address, transport_factory=self._transport, **options)
            self.ftp = self.client.open_sftp()
        except Exception as error:
            self.client.close()
            if not isinstance(error, paramiko.AuthenticationException):
                raise
            reason = str(error).rstrip(".")
            advice = "a key with a passphrase must be in the agent, by `ssh-add`"
            raise SshError(f"cannot log in as {host.user}: {reason}; {advice}") from None

    def _transport(self, *args: Any, **options: Any) -> paramiko.Transport:
        """A connection that prefers the key types of the known keys, as ssh does."""
        transport = _Transport(*args, **options)
        types = {key.key_type for key in self._known_keys if key.marker is None}
        security = transport.get_security_options()
        security.key_types = sorted(
            security.key_types,
            key=lambda each: ("ssh-rsa" if each.startswith("rsa-") else each) not in types,
        )
        return transport

    def missing_host_key(self, client: object, hostname: str, key: paramiko.PKey) -> None:
        """Raises SshError unless the key is known and not revoked. Called for every host's key."""
        name, data = self._host.key_name, key.get_base64()
        shown = f"the key of {name}, {key.get_name()} {key.fingerprint},"
        of_host = [each for each in self._known_keys if each.marker is None]
        for each in self._known_keys:
            if each.marker == "revoked" and each.key == data:
                raise SshError(f"{shown} is revoked ({each.where})")
        if any(each.key == data for each in of_host):
            return
        if of_host:
            where = min(of_host, key=lambda each: each.key_type != key.get_name()).where
            advice = "this may be an impostor; if the host has a new key, remove that line"
            raise SshError(f"{shown} differs from {where}: {advice}")
        if any(each.marker == "cert-authority" for each in self._known_keys):
            # `ssh` would not add the key to known_hosts, since it trusts the certificate.
            advice = f"add it to known_hosts as `{name} {key.get_name()} KEY`, from `ssh-keyscan`"
            raise SshError(f"{shown} is not known, and certificates are not supported; {advice}")
        command = shlex.join(["ssh", "-p", str(self._host.port), self._host.name])
        raise SshError(f"{shown} is not known: connect once with `{command}` to add it")


class _Transport(paramiko.Transport):  # type: ignore[misc]
    def auth_interactive_dumb(self, *args: Any, **options: Any) -> list[str]:
        """Raises AuthenticationException instead of prompting the user on the terminal."""
        raise paramiko.AuthenticationException("more than a key is asked for")
