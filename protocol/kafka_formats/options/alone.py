"""Checks the options of a read without Spark: those of formats and of envelopes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_formats.options.envelope import (
    ENVELOPE,
    ENVELOPE_OPTIONS,
    Envelope,
    EnvelopeOptions,
    parse_envelope,
)
from kafka_formats.options.formats import FormatOptions, parse_formats
from kafka_formats.options.option import Use
from kafka_formats.options.other_tools import in_own_names
from kafka_formats.options.settings import Mode
from kafka_formats.options.table import KEY, PAYLOAD_OPTIONS, REGISTRY_PREFIX, VALUE, WRITE_ONLY
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.nearest_name import did_you_mean

_RAW: Final = FormatOptions((), Mode.FAILFAST, {})


@dataclass(frozen=True, slots=True)
class AloneOptions:
    """The options of a read without Spark. `formats` may have no payloads."""

    formats: FormatOptions
    envelope: EnvelopeOptions


def parse_alone(options: Mapping[str, str]) -> AloneOptions:
    """Check options of formats and of envelopes, with names in any case.

    Raises:
        KafkaConfigError: A name is not known, there is neither a format nor an envelope, or as from
            `parse_formats` and `parse_envelope`.
    """
    given = in_own_names({name.lower(): value for name, value in options.items()})
    rows = (*PAYLOAD_OPTIONS, *ENVELOPE_OPTIONS)
    known = {row.key: row.name for row in rows if Use.BATCH_READ in row.uses}
    for name in sorted(given.keys() - known.keys() - set(WRITE_ONLY)):
        if not name.startswith(REGISTRY_PREFIX):
            listed = f"there are {', '.join(known.values())}."
            advice = did_you_mean(name, known, cutoff=0.75, otherwise=listed)
            raise KafkaConfigError(f"Option '{name}' is not one of formats: {advice}")
    formats, envelope = parse_formats(given), parse_envelope(given)
    if formats is None and envelope.kind is Envelope.NONE:
        raise KafkaConfigError(
            f"No column has a format: set {VALUE.format.name} or {KEY.format.name}, or "
            f"{ENVELOPE.name}."
        )
    return AloneOptions(formats or _RAW, envelope)
