"""Records in kcat's format."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.cli.record_template import parse_template
from kafka_spark_source.tools.records.peek import PayloadTexts, ShownRecord

RECORD = ShownRecord("orders", 3, 7, 1_500, b"k", b"v\xff", (("a", b"1"), ("a", None), ("b", b"")))
NULLS = RECORD._replace(key=None, value=None, headers=())


def rendered(template: str, record: ShownRecord = RECORD) -> bytes:
    return parse_template(template, lambda data: data)(record)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%t [%p] at %o: %k %s", b"orders [3] at 7: k v\xff"),
        ("%v|%K|%S|%T", b"v\xff|1|2|1500"),
        ("%R", b"\0\0\0\2"),
        ("%h", b"a=1,a=NULL,b="),
        (r"\t\n\r\\100%%\x41\x4g\0\101", b"\t\n\r\\100%A\x04g\x00101"),
        (r"\033[1m\q\u00e9", b"\x1b[1mqu00e9"),
        ("\u00e9\\", b"\xc3\xa9"),
        ("", b""),
    ],
)
def test_fields(template: str, expected: bytes) -> None:
    assert rendered(template) == expected


def test_null_is_empty_and_its_length_is_minus_1() -> None:
    assert rendered("%k|%s|%K|%S|%R|%h", NULLS) == b"||-1|-1|\xff\xff\xff\xff|"


def test_decoded_payloads_with_their_lengths_as_they_came() -> None:
    decoded = PayloadTexts(frozenset({"key", "value"}), {"key": '"\\u00e9"', "value": '{"id":1}'})
    assert rendered("%k %v %K %S", RECORD._replace(decoded=decoded)) == b'\xc3\xa9 {"id":1} 1 2'


@pytest.mark.parametrize("template", ["%q", "%", "%t %\n"])
def test_a_field_that_is_not_there(template: str) -> None:
    with pytest.raises(KafkaConfigError, match="is not a field of records: there are %t, %p, %o"):
        rendered(template)


def test_only_what_others_wrote_is_escaped() -> None:
    render = parse_template("\x1b%k", lambda data: data.upper())
    assert render(RECORD) == b"\x1bK"
