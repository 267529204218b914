"""How the frames of each framing are found, and how many payloads may be unpacked together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from kafka_formats.options.settings import Framing
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
}
# Confluent's serializers name the schema there.
HEADER_OF: Final = {"key": "__key_schema_id", "value": "__value_schema_id"}
# Where to split payloads, so that the payloads of a piece unpack to a limited size.
SPLITS: Final[Mapping[Framing, Callable[[pa.BinaryArray], Sequence[int]]]] = {
    Framing.NONE: lambda _: (),
    Framing.CONFLUENT: lambda _: (),
    Framing.GLUE: glue_splits,
    Framing.CONNECT: lambda _: (),
}
