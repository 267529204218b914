"""The options of envelopes: what the records of a topic say about the rows of a table. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Final

from kafka_formats.options.debezium import DEBEZIUM_OPTIONS, DebeziumOptions, parse_debezium
from kafka_formats.options.option import BATCH, READ, parse_choice
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.option import Option


class Envelope(Enum):
    """What a record says.

    NONE: something of its own. UPSERT: the row of its key, or with a null value that there is none.
    DEBEZIUM: a change of a row of a database, in its value.
    """

    NONE = "none"
    UPSERT = "upsert"
    DEBEZIUM = "debezium"


# The column that envelopes add, and its values of UPSERT.
OP_COLUMN: Final = "op"
UPSERTED: Final = "u"
DELETED: Final = "d"


class Tombstones(Enum):
    """Whether a batch with UPSERT has rows for keys whose newest record has a null value."""

    DROP = "drop"
    KEEP = "keep"


class NullKeys(Enum):
    """Whether records with a null key fail a read with UPSERT, or are rows of one key."""

    FAIL = "fail"
    KEEP = "keep"


ENVELOPE: Final = Option(
    "envelope", partial(parse_choice, choices={each.value: each for each in Envelope}), READ, "none"
).about(
    "The meaning of a record. `none`: each record is a row. `upsert`: a record is the row of its "
    "key, and a null value deletes it; a read has the newest record of each key in each partition "
    "([tables](tables.md)). `debezium`: a value is a change of a database's row, as Debezium "
    "writes it; a read has the row and its change ([Debezium's events](debezium.md))."
)
UPSERT_TOMBSTONES: Final = Option(
    "upsert.tombstones",
    partial(parse_choice, choices={each.value: each for each in Tombstones}),
    BATCH,
    "drop",
).about(
    "For `envelope=upsert`: what to do with a key whose newest record has a null value. `drop`: "
    "leave it out. `keep`: a row with a null value and `d` in the column `op`. A stream always has "
    "such rows."
)
UPSERT_NULL_KEYS: Final = Option(
    "upsert.nullKeys",
    partial(parse_choice, choices={each.value: each for each in NullKeys}),
    READ,
    "fail",
).about(
    "For `envelope=upsert`: what to do with a record without a key. `fail`: an error. `keep`: null "
    "is a key like others."
)

ENVELOPE_OPTIONS: Final[tuple[Option[object], ...]] = (
    ENVELOPE,
    UPSERT_TOMBSTONES,
    UPSERT_NULL_KEYS,
    *DEBEZIUM_OPTIONS,
)
_ONLY_WITH: Final[Mapping[Envelope, tuple[Option[object], ...]]] = {
    Envelope.UPSERT: (UPSERT_TOMBSTONES, UPSERT_NULL_KEYS),
    Envelope.DEBEZIUM: DEBEZIUM_OPTIONS,
}


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """The envelope of a read, and the options of it."""

    kind: Envelope = Envelope.NONE
    tombstones: Tombstones = Tombstones.DROP
    null_keys: NullKeys = NullKeys.FAIL
    debezium: DebeziumOptions = field(default_factory=DebeziumOptions)

    @property
    def is_upsert(self) -> bool:
        """Whether the records of a key replace each other."""
        return self.kind is Envelope.UPSERT

    def in_a_stream(self) -> EnvelopeOptions:
        """The same for a stream, which always has deleted keys: older micro-batches had them."""
        return replace(self, tombstones=Tombstones.KEEP) if self.is_upsert else self


def parse_envelope(given: Mapping[str, str]) -> EnvelopeOptions:
    """Check the options of the envelope of a read.

    Args:
        given: All options of a read, by names in lower case.

    Raises:
        KafkaConfigError: An option has an unusable value, or needs another envelope.
    """
    kind = ENVELOPE.value_in(given)
    for needed, rows in _ONLY_WITH.items():
        for row in rows:
            if row.key in given and kind is not needed:
                raise KafkaConfigError(
                    f"Option '{row.name}' needs the option {ENVELOPE.name}: set it to "
                    f"{needed.value}, or remove {row.name}."
                )
    return EnvelopeOptions(
        kind,
        UPSERT_TOMBSTONES.value_in(given),
        UPSERT_NULL_KEYS.value_in(given),
        parse_debezium(given),
    )
