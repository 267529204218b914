"""Reads the values of a registry's responses, and checks each of them. No I/O.

Each function takes JSON and raises ValueError with the reason, without any value of the response.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

from kafka_formats.registry.schemas import Place, Reference
from kafka_protocol.auth.mechanism import shown
from kafka_protocol.client.network.http_request import HttpResponse

T = TypeVar("T")
Parse: TypeAlias = Callable[[Any], T]

# Ids and versions are Java ints.
_MAX_INT: Final = 2**31 - 1
_MAX_REFERENCES: Final = 1_000
_VERSION: Final = re.compile(r"[1-9][0-9]{0,8}")


class SchemaBody(NamedTuple):
    """A schema without the schemas that it refers to.

    `kind` may be one that only the registry knows.
    """

    kind: str
    text: str
    references: tuple[Reference, ...]


class VersionBody(NamedTuple):
    """A version of a subject without the schemas that its schema refers to."""

    subject: str
    version: int
    schema_id: int
    schema: SchemaBody


class ErrorBody(NamedTuple):
    """An error code of Confluent, such as 40401, and the message; 0 and empty if there is none."""

    code: int
    message: str


def parse_json(body: bytes) -> Any:
    """The value of a body."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None


def read_schema(value: Any) -> SchemaBody:
    """The schema in the response to a request for an id or a GUID."""
    fields = _object(value)
    # Avro is the default, and is left out.
    kind = _text(fields, "schemaType").upper() if fields.get("schemaType") else "AVRO"
    references = fields.get("references") or []
    if not isinstance(references, list) or len(references) > _MAX_REFERENCES:
        raise ValueError(f"'references' is not a list, or has more than {_MAX_REFERENCES} items")
    return SchemaBody(
        shown(kind), _text(fields, "schema"), tuple(_reference(each) for each in references)
    )


def read_version(value: Any) -> VersionBody:
    """The version in the response to a request for a version or to a look-up."""
    fields = _object(value)
    return VersionBody(
        _text(fields, "subject"),
        _number(fields.get("version"), "version", 1),
        read_id(fields),
        read_schema(fields),
    )


def read_id(value: Any) -> int:
    """The id in the response to a registration."""
    return _number(_object(value).get("id"), "id", 0)


def read_text(response: HttpResponse) -> str:
    """The text of a schema that is a whole body."""
    try:
        return response.body.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None


def read_artifact_references(value: Any) -> tuple[Reference, ...]:
    """Apicurio's references; a subject is the path of an artifact."""
    if not isinstance(value, list) or len(value) > _MAX_REFERENCES:
        raise ValueError(f"it is not a list, or has more than {_MAX_REFERENCES} items")
    return tuple(_artifact_reference(_object(each)) for each in value)


def read_system(value: Any) -> str:
    """The name of Apicurio in the response to `/system/info`."""
    return _text(_object(value), "name")


def read_groups(value: Any) -> list[str]:
    """The names of groups in Azure's response to a request for them."""
    return read_types(_object(value).get("schemaGroups"))


def read_types(value: Any) -> list[str]:
    """The kinds of schemas in the response to a request for them."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("it is not a list of texts")
    return value


def read_subjects(value: Any) -> list[str]:
    """The names in the response to a request for all subjects."""
    if not isinstance(value, list):
        raise ValueError("it is not a list")  # noqa: TRY004  one type for all reasons
    return [_text({"subject": each}, "subject") for each in value]


def read_versions(value: Any) -> list[int]:
    """The versions in the response to a request for all of a subject."""
    if not isinstance(value, list):
        raise ValueError("it is not a list")  # noqa: TRY004  one type for all reasons
    return [_number(each, "version", 1) for each in value]


def read_places(value: Any) -> list[Place]:
    """The versions of subjects in the response to `/schemas/ids/ID/versions`."""
    if not isinstance(value, list):
        raise ValueError("it is not a list")  # noqa: TRY004  one type for all reasons
    listed = [_object(each) for each in value]
    return [
        Place(_text(each, "subject"), _number(each.get("version"), "version", 1)) for each in listed
    ]


def read_compatibility(value: Any) -> list[str]:
    """Why a schema is incompatible, as the server says; empty if it is compatible."""
    fields = _object(value)
    is_compatible = fields.get("is_compatible")
    if not isinstance(is_compatible, bool):
        raise ValueError("'is_compatible' is not true or false")  # noqa: TRY004
    if is_compatible:
        return []
    messages = fields.get("messages")
    texts = [m for m in messages if isinstance(m, str)] if isinstance(messages, list) else []
    return texts or ["the registry says that it is incompatible, without a reason"]


def read_error(body: bytes) -> ErrorBody:
    """The error in the body of a response that is not a success, whatever the body is."""
    try:
        fields = _object(parse_json(body))
    except ValueError:
        return ErrorBody(0, "")
    code, message = fields.get("error_code"), fields.get("message")
    is_code = isinstance(code, int) and not isinstance(code, bool) and 0 <= code <= _MAX_INT
    return ErrorBody(code if is_code and code else 0, message if isinstance(message, str) else "")


def _reference(value: Any) -> Reference:
    fields = _object(value)
    return Reference(
        _text(fields, "name"),
        _text(fields, "subject"),
        _number(fields.get("version"), "version", 1),
    )


def _artifact_reference(fields: Mapping[str, Any]) -> Reference:
    version = _text(fields, "version")
    if not _VERSION.fullmatch(version):
        raise ValueError("'version' of a reference is not a number")
    # Artifacts without a group are in this one.
    group = {"groupId": "default"} if fields.get("groupId") is None else fields
    place = f"groups/{_segment(group, 'groupId')}/artifacts/{_segment(fields, 'artifactId')}"
    return Reference(_text(fields, "name"), place, int(version))


def _segment(fields: Mapping[str, Any], key: str) -> str:
    """A text as a part of a path. Its slashes are quoted; dots alone would lead elsewhere."""
    text = _text(fields, key)
    if not text.strip("."):
        raise ValueError(f"{key!r} of a reference is not a name")
    return quote(text, safe="")


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a part of it is not a JSON object")  # noqa: TRY004
    return value


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key!r} is not a text")  # noqa: TRY004
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{key!r} has a character that UTF-8 cannot encode") from None
    return value


def _number(value: Any, key: str, lowest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= _MAX_INT:
        raise ValueError(f"{key!r} is not a number from {lowest} to {_MAX_INT}")
    return value
