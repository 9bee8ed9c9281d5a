"""make_keys: makes a certificate and a key with which the processes of a cluster authenticate."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from tbcore.engine import OptionError, one_line

CERT, KEY = "cert.pem", "key.pem"
_DAYS = 365


def make_keys(folder: str) -> None:
    """Makes a folder with a key, and the certificate that scheduler, workers and clients accept.

    All of them use the same two files, so no others can connect. Only this user can read the
    folder. Raises OptionError if it exists, or if a package is missing.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric import ec
    except ModuleNotFoundError:
        line = "--make_tls needs another package: pip install 'tbcore-index[cluster]'"
        raise OptionError(line) from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tbcore-index")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # The clocks of a cluster differ.
        .not_valid_after(now + timedelta(days=_DAYS))
        .sign(key, hashes.SHA256())
    )
    parts = {
        CERT: signed.public_bytes(form.Encoding.PEM),
        KEY: key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()),
    }
    try:
        os.makedirs(folder, mode=0o700)
        for part, data in parts.items():
            path = os.path.join(folder, part)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
    except OSError as error:
        line = one_line(f"cannot make {folder!r}: {error.strerror or error}; use a new directory")
        raise OptionError(line) from None
