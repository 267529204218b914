"""How the frames of each framing are found, and how many payloads may be unpacked together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from kafka_formats.framing import Frames, confluent_frames, no_frames
from kafka_formats.glue_framing import glue_frames, glue_parts
from kafka_formats.settings import Framing

# (payloads, headers of the records, name of the header for these payloads) -> frames
FRAMES: Final[Mapping[Framing, Callable[[pa.BinaryArray, pa.ListArray | None, str], Frames]]] = {
    Framing.NONE: no_frames,
    Framing.CONFLUENT: confluent_frames,
    Framing.GLUE: glue_frames,
}
# Where to split payloads, so that those of a part unpack to a limited size.
PARTS: Final[Mapping[Framing, Callable[[pa.BinaryArray], Sequence[int]]]] = {
    Framing.NONE: lambda _: (),
    Framing.CONFLUENT: lambda _: (),
    Framing.GLUE: glue_parts,
}
