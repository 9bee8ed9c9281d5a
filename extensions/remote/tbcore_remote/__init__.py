"""Log directories in object stores and on other machines, for tbcore: s3://, gs://, sftp:// ..."""

from __future__ import annotations

__version__ = "0.1.0"
