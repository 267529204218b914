"""A record as a line of text, or of JSON."""

from __future__ import annotations

import base64
import json

from kafka_spark_source.cli.records import as_json, as_text, payload_of
from kafka_spark_source.tools.records.peek import PayloadTexts, ShownRecord

RECORD = ShownRecord("orders", 0, 7, 0, b"k", b"v", (("h", b"1"), ("h", None), ("\n", b"\xff")))
BOTH = frozenset({"key", "value"})


def test_json_has_all_of_a_record() -> None:
    assert json.loads(as_json(RECORD)) == {
        **{"topic": "orders", "partition": 0, "offset": 7, "timestamp_ms": 0},
        **{"key": "k", "value": "v"},
        "headers": [
            {"name": "h", "value": "1"},
            {"name": "h", "value": None},
            {"name": "\n", "value_base64": "/w=="},
        ],
    }


def test_a_decoded_value_is_json_in_json() -> None:
    decoded = PayloadTexts(BOTH, {"key": '"k"', "value": '{"d":1.100,"s":"\u2028"}'})
    line = as_json(RECORD._replace(decoded=decoded))
    assert '"key": "k", "value": {"d":1.100,"s":"\\u2028"}, ' in line
    assert json.loads(line)["value"] == {"d": 1.1, "s": "\u2028"}
    assert 'orders-0@7 "k" {"d":1.100,"s":"\\u2028"} [' in as_text(RECORD._replace(decoded=decoded))


def test_a_broken_value_has_its_bytes_and_the_reason() -> None:
    """A text in its place would be taken for a decoded string when it is written again."""
    decoded = PayloadTexts(BOTH, {"key": '"k"'}, "the value: it is\n not JSON")
    broken = RECORD._replace(decoded=decoded, headers=())
    shown = json.loads(as_json(broken))
    assert (shown["key"], base64.b64decode(shown["value_base64"])) == ("k", b"v")
    assert shown["error"] == "the value: it is\n not JSON"
    assert "value" not in shown
    assert as_text(broken).splitlines() == [
        '1970-01-01 00:00:00.000Z orders-0@7 "k" v',
        "  not decoded: the value: it is\\n not JSON",
    ]


def test_a_payload_for_programs() -> None:
    decoded = PayloadTexts(BOTH, {"key": '"a\\ud83d\\ude00"', "value": "1.10"})
    record = RECORD._replace(decoded=decoded)
    assert payload_of(record, "key") == "a\U0001f600".encode()
    assert payload_of(record, "value") == b"1.10"
    assert payload_of(RECORD, "value") == b"v"
    assert payload_of(RECORD._replace(key=None), "key") is None
