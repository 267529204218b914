"""A column of any type <-> a column of texts, for callers that cannot pass on all types.

Each text is an object with one field, `FIELD`; a null value is one without it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import with_type
from kafka_formats.json.ddl import to_ddl
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.encode import encode

FIELD: Final = "value"


def check_type(data_type: pa.DataType) -> None:
    """Check that values of a type can be texts, and be read from them.

    Raises:
        SchemaError: They cannot. Names the field.
    """
    to_ddl(data_type)


def to_texts(values: pa.Array) -> pa.StringArray:
    """The text of each value; no text is null.

    Raises:
        SchemaError: JSON has no such type.
    """
    return encode(pa.StructArray.from_arrays([values], [FIELD])).cast(pa.string())


def from_texts(texts: pa.StringArray, data_type: pa.DataType) -> pa.Array:
    """The values of texts.

    Raises:
        PayloadError: A text has no value of the type.
    """
    payloads = texts.cast(pa.binary())
    decoder = decoder_for(pa.struct([(FIELD, data_type)]))
    decoded = decoder.decode(payloads, 0)
    if decoded.is_broken.any():
        raise decoder.explain(payloads[int(np.argmax(decoded.is_broken))].as_py())
    return with_type(decoded.values.field(0), data_type)
