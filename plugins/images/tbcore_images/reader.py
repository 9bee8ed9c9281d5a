"""Reader: encoded images with their size and content type."""

from __future__ import annotations

from tbcore.media import Sample
from tbcore.values import Value, image
from tbcore_images.headers import header_of


def decode_images(value: Value, _metadata: object) -> list[Sample]:
    """The images that were logged together at one step.

    Width and height come from each image's own header if possible, otherwise from the log.
    """
    logged = image(value)
    samples = []
    for encoded in logged.encoded:
        header = header_of(encoded)
        width, height = header.size or (logged.width, logged.height)
        samples.append(Sample(encoded, header.content_type, {"width": width, "height": height}))
    return samples
