"""The options of envelopes."""

from __future__ import annotations

import pytest

from kafka_formats.options.envelope import (
    Envelope,
    EnvelopeOptions,
    NullKeys,
    Tombstones,
    parse_envelope,
)
from tests.config_error import config_error


def test_without_an_envelope_each_record_is_a_row() -> None:
    assert parse_envelope({}) == EnvelopeOptions(Envelope.NONE)
    assert parse_envelope({"envelope": " NONE "}) == EnvelopeOptions(Envelope.NONE)


def test_all_options() -> None:
    given = {"envelope": "Upsert", "upsert.tombstones": "KEEP", "upsert.nullkeys": "keep"}
    assert parse_envelope(given) == EnvelopeOptions(Envelope.UPSERT, Tombstones.KEEP, NullKeys.KEEP)
    assert parse_envelope({"envelope": "upsert"}) == EnvelopeOptions(
        Envelope.UPSERT, Tombstones.DROP, NullKeys.FAIL
    )
    assert parse_envelope({"envelope": "debezium"}) == EnvelopeOptions(Envelope.DEBEZIUM)


def test_a_stream_always_has_deleted_keys() -> None:
    of_batch = parse_envelope({"envelope": "upsert"})
    assert of_batch.in_a_stream() == EnvelopeOptions(Envelope.UPSERT, Tombstones.KEEP)
    assert EnvelopeOptions().in_a_stream() == EnvelopeOptions()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"envelope": "ups"},
            "Option 'envelope' must be none or upsert or debezium, got 'ups': did you mean "
            "'upsert'?",
        ),
        (
            {"envelope": "upsert", "upsert.tombstones": "yes"},
            "Option 'upsert.tombstones' must be drop or keep, got 'yes'.",
        ),
        (
            {"envelope": "upsert", "upsert.nullkeys": "drop"},
            "Option 'upsert.nullKeys' must be fail or keep, got 'drop'.",
        ),
        (
            {"upsert.tombstones": "keep"},
            "Option 'upsert.tombstones' needs the option envelope: set it to upsert, or remove "
            "upsert.tombstones.",
        ),
        (
            {"envelope": "debezium", "upsert.nullkeys": "keep"},
            "Option 'upsert.nullKeys' needs the option envelope: set it to upsert, or remove "
            "upsert.nullKeys.",
        ),
    ],
)
def test_what_is_refused(options: dict[str, str], message: str) -> None:
    assert config_error(parse_envelope, options) == message
