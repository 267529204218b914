"""The errors of payloads and of their schemas."""

from __future__ import annotations

from typing import Final

from kafka_protocol.errors import KafkaError

# In the path of a field: the items of a list, and the values of a map.
ITEMS: Final = "[]"
VALUES: Final = "{}"


def path_of(outer: str, inner: str) -> str:
    """The path of a part: `lines` and `price` are `lines.price`, `lines` and `[]` are `lines[]`.

    Empty is the whole value.
    """
    dot = "." if outer and inner and not inner.startswith((ITEMS, VALUES)) else ""
    return f"{outer}{dot}{inner}"


def named(path: str, whole: str = "the payload") -> str:
    """The field of a path as sentences name it; `whole` for an empty path."""
    return f"the field {path!r}" if path else whole


def about(path: str, reason: str) -> str:
    """A reason, with the field that it is about before it."""
    return f"{named(path)}: {reason}" if path else reason


class FormatError(KafkaError):
    """The base of all exceptions about payloads, schemas and registries."""


class SchemaError(FormatError):
    """A schema is invalid or uses an unsupported feature, or two schemas do not fit each other."""


class NoFieldsError(SchemaError):
    """A schema has no fields, and so no type in Spark."""


class UnknownSchemaError(SchemaError):
    """A payload names a schema that the registry does not have."""


class RegistryError(FormatError):
    """A schema registry cannot be reached, refused a request, or returned an invalid response.

    Names the subject or id, the URL, the status and the cure. Contains no secret.
    """


class NotFoundError(RegistryError):
    """A subject, version or schema does not exist in the registry."""


class RefusedRequestError(RegistryError):
    """The registry does not accept a request as it is: 400 or 422."""


class UnknownPathError(RegistryError):
    """A 404 without a reason of the registry: there may be no registry at the path."""


class ForbiddenError(RegistryError):
    """The registry forbids a request that it knows: a 403 or a 405."""


class PayloadError(FormatError):
    """A payload does not fit its schema.

    Attributes:
        field: The path of the field in the schema, such as `lines.price`; empty for the whole.
        reason: The fault in it.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason

    def within(self, outer: str) -> PayloadError:
        """The same error, with the path of the containing value before the path of the field."""
        return PayloadError(path_of(outer, self.field), self.reason)


class SchemaEvolvedError(FormatError):
    """A record has a newer schema than the columns of the query, whose option says to stop then."""


class MalformedRecordError(FormatError):
    """A key or value of a record cannot be decoded, and the mode is FAILFAST."""


class NullKeyError(FormatError):
    """A record has no key, and `envelope=upsert` needs one."""


class SpillError(FormatError):
    """Rows that do not fit in memory cannot be written to a temporary file."""
