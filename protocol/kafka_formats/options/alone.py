"""Checks the options of formats and envelopes for reads without Spark. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_formats.options.envelope import ENVELOPE_OPTIONS, EnvelopeOptions, parse_envelope
from kafka_formats.options.formats import FormatOptions, parse_formats
from kafka_formats.options.option import Use
from kafka_formats.options.other_tools import in_own_names
from kafka_formats.options.settings import Mode
from kafka_formats.options.table import MODE, PAYLOAD_OPTIONS, REGISTRY_PREFIX, WRITE_ONLY
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean


@dataclass(frozen=True, slots=True)
class AloneOptions:
    """The options of a read without Spark.

    Attributes:
        formats: May have no payloads.
        envelope: What rows are made of the records.
        mode: How to treat payloads that cannot be decoded; None if no option says it.
    """

    formats: FormatOptions
    envelope: EnvelopeOptions
    mode: Mode | None = None


def parse_alone(options: Mapping[str, str]) -> AloneOptions:
    """Check options of formats and of envelopes, with names in any case.

    Raises:
        KafkaConfigError: A name is not known, or as from `parse_formats` and `parse_envelope`.
    """
    given = in_own_names({name.lower(): value for name, value in options.items()})
    rows = (*PAYLOAD_OPTIONS, *ENVELOPE_OPTIONS)
    known = {row.key: row.name for row in rows if Use.BATCH_READ in row.uses}
    for name in sorted(given.keys() - known.keys() - set(WRITE_ONLY)):
        if not name.startswith(REGISTRY_PREFIX):
            listed = f"there are {', '.join(known.values())}."
            advice = did_you_mean(name, known, cutoff=0.75, otherwise=listed)
            raise KafkaConfigError(f"Option '{name}' is not one of formats: {advice}")
    formats = parse_formats(given) or FormatOptions((), MODE.value_in(given), {})
    return AloneOptions(formats, parse_envelope(given), MODE.value_if_in(given))
