"""The errors of payloads and of their schemas."""

from __future__ import annotations

from kafka_protocol.errors import KafkaError


class FormatError(KafkaError):
    """The base class."""


class SchemaError(FormatError):
    """A schema is invalid, or has something that is not supported, or two do not fit each other."""


class RegistryError(FormatError):
    """A schema registry cannot be reached, refused a request, or returned nonsense.

    Names the subject or id, the URL, the status and what to do next. Contains no secret.
    """


class NotFoundError(RegistryError):
    """A subject, version or schema does not exist in the registry."""


class PayloadError(FormatError):
    """A payload does not have its schema.

    Attributes:
        field: The path of the field in the schema, such as `lines.price`; empty for the whole.
        reason: What is wrong with it.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason


class MalformedRecordError(FormatError):
    """A record has a key or a value that cannot be decoded, and the mode is FAILFAST."""
