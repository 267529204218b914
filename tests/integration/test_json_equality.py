"""JSON is decoded and encoded as by Spark's `from_json` and `to_json`: many values in one query."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, _parse_datatype_string

from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.encode import encode
from kafka_spark_source.columns.arrow_types import to_arrow, to_spark
from tests.formats.times import as_numbers

pytestmark = [pytest.mark.integration, pytest.mark.spark]

# Each example is a query of Spark's.
NO_SHRINK = (Phase.explicit, Phase.generate)
TYPES = (
    *("string", "bigint", "int", "smallint", "double", "float", "boolean", "date", "timestamp"),
    *("timestamp_ntz", "binary", "decimal(5,2)", "decimal(38,10)", "map<string,int>"),
    *("array<int>", "struct<a:int,b:string>", "array<struct<a:double>>", "map<string,array<date>>"),
)
# Every form that has two readings somewhere, for all types.
VALUES = """
1 1.0 1.10 1e3 -0 -0.0 0.00001 123456789.123 9223372036854775807 9223372036854775808 1e400 01 +1 .5
1. 1.005 -1.005 123456 999.995 2147483648 -32768 40000 12345678901234567890123 1600000000 1e-7
16777217
true false null NaN Infinity -Infinity tru nul {} [] {"a":1} {"a":1.5,"b":"x"} {"a":"x"} {"b":{}}
[1,null] [1,"x"] [[1]] [{"a":1},null,{}] {"x":1,"y":null} {"x":["2020-01-02"]} [1,] {"a":} {a:1}
"" "x" "1" "1.005" "1e2" "+1" "NaN" "INF" "+INF" "-INF" "Infinity" "+Infinity" "true"
"\\ud800x" "\\ud83d\\ude00" "é\\u00e9\\/" "\\u0000" "\\x" "AQI=" "AQI" "A" "AQJ=" "-_8=" "AQI=x"
"AQI=AQI="
"2020-01-02" "2020-1-2" "2020-01" "2020-01-02T10:00:00Z" "2020-02-30" "1500-01-01" "2020-01-02Z"
"2020-01-02T03:04:05.1234567Z" "2020-01-02T03:04:05+02:00" "2020-01-02T03:04:05+0200"
"2020-01-02T3:4:5Z" "2020-01-02T03:04Z" "2020-01-02T24:00:00Z" "2020-01-02T03:04:60Z"
"2020-01-02T03:04:05+19:00" "2020-01-02T03Z" "2020-01-02T03:04:05,5Z" "2020-01-02T03:04:05.Z"
"2020-01-02T03:04:05Europe/Berlin" "2020-01-02t03:04:05z" "2020-01-02T03:04:05GMT"
"+2020-01-02" "02020-01-02" "\\u007f2020-01-02T03:04:05Z" "\\u20032020-01-02T03:04:05Z"
"\\u00852020-01-02" "\\uff12\\uff10\\uff12\\uff10-01-02" "2020-01-02T\\u06603:04:05Z"
"2020-01-02T03:04:05UT" "2020-01-02T03:04:05UT+1" "2020-01-02T03:04:05UTC+2"
"2020-01-02T03:04:05GMT-02:30" "2020-01-02T03:04:05+2:0" "2020-01-02T03:04:05+\\uff12:00"
1E400 3.4028235e39 1e-50 9007199254740993 99999.995 -0.004 0e10 {"":{"":1}}
[[],{},"",[null]]
{"b":1.0,"c":[1e10,1e-5,1.10,123456789012345678901234567890,0.1e1,-0.0,-0,1e7,1e-3,9.99e-4]}
""".split()  # noqa: SIM905
DOCUMENTS = [
    *(f'{{"a":{value}}}' for value in VALUES),
    *(f'{{"b":{value}}}' for value in ("[1,}", "NaN", "tru", '"\\ud800"', "[" * 400 + "]" * 400)),
    *('{"a":"x"} more', '{"a":"x"', '[{"a":"x"}]', "null", "", " \n ", "\ufeff{}", '"x"', "{}"),
    *('{"A":"x"}', '{"a":"\t"}', '{"a":1}{"a":2}', '{"a":1},"v":2', '{"a":1}} {"b":{"a":1}', "1"),
    *('{"a":" "}', '{"a":" AQI= AQI="}', '{"a":"AQ I="}', '{"a":"AQID\\u0020\\u0009AQ== "}'),
    *(f'{{"a":{"[" * 999}{"]" * 999}}}', f'{{"b":{"[" * 999}{"]" * 999},"a":1}}'),
    f'{{"b":{"[" * 1_001}{"]" * 1_001},"a":1}}',
    *(f'{{"a":{"7" * 900}}}', f'{{"b":{"7" * 900},"a":"x"}}', f'{{"a":1.{"7" * 900}}}'),
    *('{"a":"x",}', '{\n"a":\r\n1}', '{"a":1}\n{"a":2}', '\t{"a" : 1 }', '{"\\u0061":1}', "{a:1}"),
]


def by_spark(
    spark: SparkSession, documents: Sequence[str], types: Sequence[str]
) -> dict[str, tuple[pa.Array, np.ndarray]]:
    """For each type of the field `a`: the values of `from_json`, and which documents are broken."""
    frame = spark.createDataFrame([(each,) for each in documents], "j string").coalesce(1)
    columns = []
    for number, name in enumerate(types):
        found = F.from_json("j", f"a {name}, _bad string", {"columnNameOfCorruptRecord": "_bad"})
        columns += [found.alias(f"v{number}")]
    table = frame.select(*columns).toArrow().combine_chunks()
    result = {}
    for number, name in enumerate(types):
        column = table.column(number).chunk(0)
        is_broken = column.field("_bad").is_valid().to_numpy(zero_copy_only=False)
        is_broken &= column.is_valid().to_numpy(zero_copy_only=False)
        parts, fields = [column.field("a")], [column.type.field("a")]
        values = pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
        result[name] = (values, is_broken)
    return result


def compare(spark: SparkSession, documents: Sequence[str], types: Sequence[str] = TYPES) -> None:
    expected = by_spark(spark, documents, types)
    payloads = pa.array([each.encode("utf-8", "surrogatepass") for each in documents])
    for name in types:
        data_type = parse_ddl(f"a {name}")
        decoder = decoder_for(data_type)
        # Again and again, so that Arrow's reader gets blocks of the same.
        found = decoder.decode(payloads, 0)
        values, is_broken = expected[name]
        assert to_spark(found.values.type) == to_spark(values.type)
        read, wanted = shown(found.values), shown(values)
        for row, document in enumerate(documents):
            what = (name, document)
            if is_different(name, document):
                continue
            assert found.is_broken[row] == is_broken[row], what
            if not is_broken[row]:
                assert read[row] == wanted[row], what
        # Alone with many others, each has the value that it has by itself.
        for row in np.flatnonzero(~found.is_broken).tolist():
            many = decoder.decode(payloads.take(pa.array([row] * 40)), 0)
            assert not many.is_broken.any(), (name, documents[row])
            assert shown(many.values)[39] == read[row]


# What is read in another way on purpose; `docs/formats.md` says so.
DIFFERENT = {
    # Spark's base64 may have control characters that are not escaped.
    ("binary", '{"a":"\t"}'),
}


def is_different(name: str, document: str) -> bool:
    """Spark reads timestamps without a zone in that of the session; here they are broken.

    So are whole numbers of seconds whose microseconds do not fit 64 bits, which overflow there.
    """
    seconds = re.match(r'\{"a": ?(-?\d+)', document)
    overflows = seconds is not None and not -(2**63) <= int(seconds[1]) * 1_000_000 < 2**63
    if name == "timestamp" and overflows:
        return True
    zoneless = "T" not in document and re.match(r'\{"a": ?"\+?0?(2020|1500)-', document) is not None
    return (name == "timestamp" and zoneless) or (name, document) in DIFFERENT


def shown(values: pa.Array) -> list[str]:
    """The values as texts, since NaN equals nothing."""
    return [repr(each) for each in as_numbers(values)]


def test_a_time_after_pythons_last_year_is_read_as_by_from_json(spark: SparkSession) -> None:
    compare(spark, ['{"a": 980120308000}'], ["timestamp"])


def test_every_form_is_read_as_by_from_json(spark: SparkSession) -> None:
    compare(spark, DOCUMENTS)


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    # Java 17 writes some doubles with a digit more than the shortest text, so these have few.
    | st.integers(-(10**8), 10**8).map(lambda each: each / 8)
    | st.sampled_from([float("nan"), float("inf"), 1e300, 5e-4])
    | st.text(st.sampled_from('ab"\\é😀\ud800 '), max_size=4)
    | st.sampled_from(["2020-01-02", "2021-12-31T23:59:59.5Z", "AQI=", "NaN", "1.5"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abxé"), inner, max_size=3)
    ),
    max_leaves=5,
)
DOCUMENT = st.builds(
    lambda value, ascii_, tail: json.dumps({"a": value}, ensure_ascii=ascii_) + tail,
    ANY,
    st.just(True),
    st.sampled_from(["", "", "", " ", "x", "{}", "\n"]),
)
CUT = st.builds(lambda document, at: document[: at % (len(document) + 1)], DOCUMENT, st.integers(0))


@settings(max_examples=3, suppress_health_check=[*HealthCheck], phases=NO_SHRINK)
@given(documents=st.lists(DOCUMENT | CUT, min_size=40, max_size=80))
def test_generated_documents_are_read_as_by_from_json(
    spark: SparkSession, documents: list[str]
) -> None:
    compare(spark, documents)


@pytest.mark.parametrize("ddl", [*TYPES, "a int, `b c` array<map<string,decimal(4)>>", "A Int"])
def test_a_ddl_is_parsed_as_by_spark(spark: SparkSession, ddl: str) -> None:
    assert parse_ddl(ddl) == to_arrow(_parse_datatype_string(ddl))


WRITTEN = (
    "a int, b bigint, c double, d float, e string, f boolean, g date, h timestamp, i decimal(9,2), "
    "j array<string>, k map<string,double>, l struct<x:int,y:array<struct<z:string>>>, m binary, "
    "n timestamp_ntz, o decimal(38,10), p map<string,struct<q:int>>, r struct<>"
)


def values_of(data_type: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, as Arrow takes them."""
    if pa.types.is_struct(data_type):
        found: st.SearchStrategy[Any] = st.fixed_dictionaries(
            {field.name: values_of(field.type) for field in data_type}
        )
    elif pa.types.is_list(data_type):
        found = st.lists(values_of(data_type.value_type), max_size=3)
    elif pa.types.is_map(data_type):
        inner = values_of(data_type.item_type)
        found = st.dictionaries(TEXT, inner, max_size=3).map(lambda each: [*each.items()])
    elif pa.types.is_integer(data_type):
        found = st.integers(-(2 ** (data_type.bit_width - 1)), 2 ** (data_type.bit_width - 1) - 1)
    elif pa.types.is_decimal(data_type):
        largest = 10 ** (data_type.precision - data_type.scale) - 1
        found = st.decimals(-largest, largest, places=data_type.scale)
    else:
        found = next(each for matches, each in LEAVES if matches(data_type))
    return st.none() | found


TEXT = st.text(st.sampled_from('ab"\\/é\x01\x1f\x7f\u2028😀\n'), max_size=5)
# Years of four digits, and those that only Java writes.
MILLISECONDS = st.integers(-(10**12), 4 * 10**12) | st.integers(-(2**63) // 1000 + 1, 2**63 // 1000)
DAYS = st.dates().filter(lambda day: day.year > 1582) | st.integers(-(2**31), 2**31 - 1)
LEAVES: tuple[tuple[Any, st.SearchStrategy[Any]], ...] = (
    (pa.types.is_string, TEXT),
    (pa.types.is_boolean, st.booleans()),
    (pa.types.is_binary, st.binary(max_size=5)),
    (pa.types.is_date, DAYS),
    (pa.types.is_timestamp, MILLISECONDS.map(lambda each: each * 1000)),
    (pa.types.is_floating, st.integers(-(10**6), 10**6).map(lambda each: each / 8)),
)


@settings(max_examples=3, suppress_health_check=[*HealthCheck], phases=NO_SHRINK)
@given(data=st.data())
def test_values_are_written_as_by_to_json(spark: SparkSession, data: st.DataObject) -> None:
    data_type = parse_ddl(WRITTEN)
    rows = data.draw(st.lists(values_of(data_type), min_size=5, max_size=20))
    values = pa.array(rows, data_type).drop_null()
    table = pa.table([values], schema=pa.schema([pa.field("v", data_type)]))
    shape = to_spark(pa.struct([pa.field("v", data_type)]))
    assert isinstance(shape, StructType)
    frame = spark.createDataFrame(table, shape)
    expected = [row[0].encode() for row in frame.selectExpr("to_json(v)").coalesce(1).collect()]
    assert sorted(encode(values).to_pylist()) == sorted(expected)
