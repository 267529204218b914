"""The functions of payloads on PySpark 4.0, which has no Arrow UDFs.

A `pandas_udf` is not exact by itself: a bigint beside a null arrives as a double, and a null struct
as a struct of nulls. So values go between Python and the JVM as texts of JSON, which Spark's
`to_json` and `from_json` write and read there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.json.column import FIELD, check_type, from_texts, to_texts
from kafka_formats.json.ddl import parse_ddl
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.columns.arrow_types import to_spark
from kafka_spark_source.worker.errors import hide_traceback

if TYPE_CHECKING:
    from pyspark.sql import Column

# As precise as the types: the defaults write milliseconds, in the session's time zone.
_WRITTEN: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}
_READ: Final = {"mode": "FAILFAST", "timeZone": "UTC"}
_ADVICE: Final = "use the option value.format, or PySpark 4.1 or newer"


def decoded(decode: Callable[[pa.Array], pa.Array], to: pa.DataType, data: Column | str) -> Column:
    """A column of the values of payloads.

    Args:
        decode: Payloads to values. It is pickled with tasks.
        to: The type of the values.
        data: The column of payloads.

    Raises:
        KafkaConfigError: Values of the type cannot be read from texts.
    """
    try:
        check_type(to)
    except SchemaError as error:
        raise KafkaConfigError(
            f"On PySpark 4.0 a function cannot return the type of this one: {error}: {_ADVICE}."
        ) from error

    def texts_of(payloads: pd.Series) -> pd.Series:
        series: pd.Series = to_texts(decode(pa.array(payloads, pa.binary()))).to_pandas()
        return series

    texts = F.pandas_udf(texts_of, T.StringType())(data)  # type: ignore[attr-defined]
    schema = T.StructType([T.StructField(FIELD, to_spark(to))])
    column: Column = F.from_json(texts, schema, _READ)[FIELD]
    return column


def encoded(encode: Callable[[pa.Array], pa.Array], data: Column | str) -> Column:
    """A column of the payloads of values.

    Args:
        encode: Values to payloads. It is pickled with tasks.
        data: The column of values.
    """

    def payloads_of(texts: pd.Series, type_names: pd.Series) -> pd.Series:
        with hide_traceback():
            values = _values(texts, type_names)
        series: pd.Series = encode(values).to_pandas()
        return series

    values = F.col(data) if isinstance(data, str) else data
    texts = F.to_json(F.struct(values.alias(FIELD)), _WRITTEN)
    to_payloads: Any = F.pandas_udf(payloads_of, T.BinaryType())  # type: ignore[attr-defined]
    column: Column = to_payloads(texts, F.typeof(values))
    return column


def _values(texts: pd.Series, type_names: pd.Series) -> pa.Array:
    type_name = type_names.iloc[0]
    try:
        return from_texts(pa.array(texts, pa.string()), parse_ddl(type_name))
    except (PayloadError, SchemaError) as error:
        raise KafkaConfigError(
            f"On PySpark 4.0 a function cannot write a column of the type {type_name}: {error}: "
            f"{_ADVICE}."
        ) from error
