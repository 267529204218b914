"""The errors of payloads and of their schemas."""

from __future__ import annotations


class FormatError(Exception):
    """The base class."""


class SchemaError(FormatError):
    """A schema is invalid, or has something that is not supported, or two do not fit each other."""


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
