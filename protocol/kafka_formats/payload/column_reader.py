"""A single column of payloads -> a column of values, for functions of Spark.

The modes are as in Spark's `from_avro`: a function cannot leave a row out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import null_where, with_type
from kafka_formats.errors import MalformedRecordError
from kafka_formats.options.settings import Mode
from kafka_formats.payload.columns import ColumnFormat, decode_column
from kafka_formats.schema_ids.framings import FRAMES
from kafka_protocol.columnar.arrays.views import check_binary_size


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """Decodes payloads. It is pickled with tasks.

    Attributes:
        format: How payloads are encoded.
        mode: FAILFAST or PERMISSIVE, which gives null for a broken payload.
    """

    format: ColumnFormat
    mode: Mode

    def __call__(self, payloads: pa.Array) -> pa.Array:
        """Decode payloads: binary of any kind, null for null.

        Raises:
            ArrowInvalid: The payloads have more than 2 GiB.
            MalformedRecordError: A payload is broken, and the mode is FAILFAST.
        """
        check_binary_size(payloads)
        payloads = payloads.cast(pa.binary())
        frames = FRAMES[self.format.framing](payloads, None, "")
        decoded = decode_column(payloads, frames, self.format.decoders, self.format.type)
        values = decoded.values
        if decoded.is_broken.any():
            if self.mode is Mode.FAILFAST:
                fault = decoded.fault(int(np.argmax(decoded.is_broken)))
                raise MalformedRecordError(
                    f"[MALFORMED_MESSAGE] A payload{fault}. To get null instead, set the option "
                    "mode to PERMISSIVE."
                )
            values = null_where(decoded.is_broken, values)
        return with_type(values, self.format.type)
