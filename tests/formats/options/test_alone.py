"""The options of a read without Spark."""

from __future__ import annotations

from kafka_formats.options.alone import parse_alone
from kafka_formats.options.envelope import Envelope, EnvelopeOptions
from kafka_formats.options.settings import Format, Mode
from tests.config_error import config_error


def test_formats_and_an_envelope_in_any_case() -> None:
    read = parse_alone({"Value.Format": "json", "value.schema": "a INT", "Envelope": "upsert"})
    assert [each.format for each in read.formats.payloads] == [Format.JSON]
    assert read.envelope == EnvelopeOptions(Envelope.UPSERT)


def test_an_envelope_without_formats() -> None:
    read = parse_alone({"envelope": "upsert"})
    assert not read.formats.payloads
    assert read.envelope.kind is Envelope.UPSERT


def test_a_mode_without_formats_is_for_text() -> None:
    read = parse_alone({"mode": "permissive"})
    assert (read.mode, read.formats.mode, read.formats.payloads) == (
        Mode.PERMISSIVE,
        Mode.PERMISSIVE,
        (),
    )
    assert parse_alone({}).mode is None
    assert parse_alone({}).formats.mode is Mode.FAILFAST


def test_a_typo_is_refused() -> None:
    assert config_error(parse_alone, {"upsert.tombstone": "keep"}) == (
        "Option 'upsert.tombstone' is not one of formats: did you mean 'upsert.tombstones'?"
    )
