"""How the frames of each framing are found, and how many payloads may be unpacked together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from kafka_formats.options.settings import Framing
from kafka_formats.schema_ids.apicurio import apicurio_frames
from kafka_formats.schema_ids.azure import azure_frames
from kafka_formats.schema_ids.confluent import confluent_frames
from kafka_formats.schema_ids.connect import connect_frames
from kafka_formats.schema_ids.frames import Frames, no_frames
from kafka_formats.schema_ids.glue import glue_frames, glue_splits

# (payloads, headers of the records, name of the header for these payloads) -> frames
FRAMES: Final[Mapping[Framing, Callable[[pa.BinaryArray, pa.ListArray | None, str], Frames]]] = {
    Framing.NONE: no_frames,
    Framing.CONFLUENT: confluent_frames,
    Framing.GLUE: glue_frames,
    Framing.CONNECT: connect_frames,
    Framing.AZURE: azure_frames,
    Framing.APICURIO: partial(apicurio_frames, kind="globalId"),
    Framing.APICURIO_CONTENT_ID: partial(apicurio_frames, kind="contentId"),
}
# Where serializers name the schema in a header: its name, or how the names begin.
HEADERS: Final[Mapping[Framing, str]] = {
    Framing.CONFLUENT: "__{column}_schema_id",
    Framing.AZURE: "content-type",
    Framing.APICURIO: "apicurio.{column}.",
    Framing.APICURIO_CONTENT_ID: "apicurio.{column}.",
}
_SPLITS: Final[Mapping[Framing, Callable[[pa.BinaryArray], Sequence[int]]]] = {
    Framing.GLUE: glue_splits,
}


def frames_of(
    framing: Framing, payloads: pa.BinaryArray, headers: pa.ListArray | None, column: str
) -> Frames:
    """Find the frames of payloads.

    Args:
        framing: Where the ids are.
        payloads: Keys or values; null for a tombstone.
        headers: The headers of the records; None if there are none, or the framing has no HEADERS.
        column: `key` or `value`.
    """
    return FRAMES[framing](payloads, headers, HEADERS.get(framing, "").format(column=column))


def splits_of(framing: Framing, payloads: pa.BinaryArray) -> Sequence[int]:
    """Where to split payloads, so that the payloads of a piece unpack to a limited size."""
    split = _SPLITS.get(framing)
    return () if split is None else split(payloads)
