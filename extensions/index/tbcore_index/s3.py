"""s3: the credentials, region and endpoint that s3fs found, as options of Delta Lake."""

from __future__ import annotations

from typing import Any

from tbcore.engine import one_line


def s3_options(system: Any, *, was_refused: bool) -> dict[str, str]:
    """Options with which Delta Lake connects to S3 in the same way as an S3FileSystem.

    Credentials that expire soon are renewed. If a request `was_refused`, they are searched for
    again, since they may have been replaced in a file. Raises OSError if there are none.
    """
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
    from fsspec.asyn import sync

    async def found_by(session: Any) -> tuple[str, str, str | None]:
        credentials = await session.get_credentials()
        if credentials is None:
            raise NoCredentialsError
        key, secret, token, *_ = await credentials.get_frozen_credentials()
        return key, secret, token

    try:
        client = system.connect().meta
        keys = system.key, system.secret, system.token
        if not system.key and not system.anon:
            keys = sync(system.loop, found_by, system.session)
            if was_refused:
                known, session = keys, type(system.session)(**system.kwargs)
                keys = sync(system.loop, found_by, session)
                if keys != known:
                    system.connect(refresh=True)
    except (BotoCoreError, ClientError) as error:
        raise OSError(one_line(str(error))) from None
    names = "aws_access_key_id", "aws_secret_access_key", "aws_session_token"
    options = dict(zip(names, keys, strict=True))
    options |= {"aws_endpoint_url": client.endpoint_url, "aws_region": client.region_name}
    options |= {"aws_skip_signature": "true" if system.anon else ""}
    return {name: text for name, text in options.items() if text}
