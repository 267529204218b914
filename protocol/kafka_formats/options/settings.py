"""The choices of a user: the format of payloads, their framing, and the mode for broken payloads.

Neither numpy nor Arrow enters here: the driver reads options without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Format(Enum):
    """How keys or values are encoded."""

    RAW = "raw"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    JSON = "json"


class Framing(Enum):
    """The place of the id of a payload's schema.

    CONFLUENT: before the payload, or in a header. GLUE: in the header of AWS Glue's serializers,
    before a payload that may be compressed. CONNECT: in the document of JSON itself, as Kafka
    Connect's converter writes it. APICURIO: in a header, or in 8 bytes before the payload, as a
    globalId; APICURIO_CONTENT_ID: as a contentId. AZURE: in the content type, a header. NONE: all
    payloads have one schema.
    """

    NONE = "none"
    CONFLUENT = "confluent"
    GLUE = "glue"
    CONNECT = "connect"
    APICURIO = "apicurio"
    AZURE = "azure"
    APICURIO_CONTENT_ID = "apicurio-content-id"


class SubjectNameStrategy(Enum):
    """How the name of a schema's subject is made, by Confluent's names.

    TOPIC: the topic and `key` or `value`. RECORD: the schema's own full name. TOPIC_RECORD: both.
    """

    TOPIC = "TopicNameStrategy"
    RECORD = "RecordNameStrategy"
    TOPIC_RECORD = "TopicRecordNameStrategy"


class Mode(Enum):
    """How to treat a record whose key or value cannot be decoded."""

    FAILFAST = "FAILFAST"
    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"


class SchemaEvolution(Enum):
    """The behaviour of a read at a schema with fields that its columns lack.

    NONE: it leaves those fields out. RESTART: it fails at a newer schema, and a restarted query has
    its columns. EXACT: it fails at any schema, also at an older one whose fields were removed.
    """

    NONE = "none"
    RESTART = "restart"
    EXACT = "exact"


# The columns that PERMISSIVE adds: the reason, and the payload of each column.
ERROR_COLUMN: Final = "_error"
RAW_COLUMNS: Final[Mapping[str, str]] = {"_raw": "value", "_raw_key": "key"}
