"""The errors of payloads and of their schemas."""

from __future__ import annotations

from kafka_protocol.errors import KafkaError


class FormatError(KafkaError):
    """The base class."""


class SchemaError(FormatError):
    """A schema is invalid, or has something that is not supported, or two do not fit each other."""


class RegistryError(FormatError):
    """A schema registry cannot be reached, or refuses a request.

    Args:
        message: What was requested of which registry, and what became of it.
        retriable: Whether the same request may succeed later.
    """

    def __init__(self, message: str, *, retriable: bool = False) -> None:
        super().__init__(message)
        self.retriable = retriable


class NotFoundError(RegistryError):
    """A registry has no such subject, version or schema."""


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
