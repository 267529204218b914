from __future__ import annotations

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from tests.endurance.torture.messages import acknowledged_row, row_of
from tests.endurance.torture.records import Headers, NewRecord
from tests.endurance.torture.rows import CREATE_TIME, LOG_APPEND_TIME, Row

HEADERS: Headers = (("h", None), ("h", b""))


def message(
    *,
    kind: int = TIMESTAMP_CREATE_TIME,
    headers: Headers | None = HEADERS,
    key: bytes | None = None,
    value: bytes | None = b"",
    offset: int = 7,
) -> Message:
    return Message(
        topic="t",
        partition=3,
        offset=offset,
        key=key,
        value=value,
        headers=None if headers is None else [*headers],
        timestamp=(kind, 99),
    )


@pytest.mark.parametrize(
    ("librdkafkas", "kafkas"),
    [(TIMESTAMP_CREATE_TIME, CREATE_TIME), (TIMESTAMP_LOG_APPEND_TIME, LOG_APPEND_TIME)],
)
def test_a_message_that_was_read(librdkafkas: int, kafkas: int) -> None:
    row = row_of(message(kind=librdkafkas))
    assert row == Row("t", 3, 7, 99, kafkas, None, b"", HEADERS)


def test_a_message_without_headers() -> None:
    assert row_of(message(headers=None)).headers == ()


def test_a_delivery_report_has_the_place_and_the_record_the_rest() -> None:
    record = NewRecord(3, b"k", b"v", HEADERS, timestamp=5)
    report = message(key=b"other", value=None, headers=None)
    assert acknowledged_row(record, report) == Row("t", 3, 7, 99, CREATE_TIME, b"k", b"v", HEADERS)


def test_a_delivery_report_without_an_offset_is_an_error() -> None:
    with pytest.raises(AssertionError):
        acknowledged_row(NewRecord(3, None, None, (), 0), message(offset=-1001))
