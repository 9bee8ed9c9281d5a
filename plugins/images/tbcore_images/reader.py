"""What images mean to a client: pictures with a size and a type of their own."""

from __future__ import annotations

from tbcore.media import Sample
from tbcore.values import Value, image
from tbcore_images.headers import header_of


def pictures(value: Value, _metadata: object) -> list[Sample]:
    """The pictures of one step, each as large as it says itself, else as it was logged."""
    logged = image(value)
    samples = []
    for encoded in logged.encoded:
        header = header_of(encoded)
        width, height = header.size or (logged.width, logged.height)
        samples.append(Sample(encoded, header.content_type, {"width": width, "height": height}))
    return samples
