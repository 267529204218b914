"""`tests/integration/test_functions.py` runs the functions, also on PySpark 4.0."""

from __future__ import annotations

import pyarrow as pa

from kafka_spark_source.functions import pandas_udfs as functions_40
from tests.config_error import config_error


def test_types_that_texts_do_not_have_are_refused() -> None:
    to = pa.struct([("took", pa.duration("us"))])
    said = config_error(functions_40.decoded, lambda values: values, to, "v")
    assert "On PySpark 4.0" in said
    assert "the field 'took' has the type duration[us]: use the option value.format" in said
