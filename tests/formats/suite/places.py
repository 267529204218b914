"""Where a payload has the id of its schema, and which registry knows the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tests.fakes.apicurio import apicurio
from tests.fakes.glue import glue, version_id
from tests.fakes.registry import Received, Reply, subjects
from tests.formats.schema_ids.test_glue import framed
from tests.formats.suite.form import Form
from tests.formats.suite.reading import TOPIC, Value

Texts: TypeAlias = Sequence[str]
"""The texts of the versions of a schema, which have the numbers and ids from 1 on."""


def _of_none(_form: Form, _texts: Texts) -> Callable[[Received], Reply]:
    return subjects()


@dataclass(frozen=True)
class Place:
    """A place of ids.

    Attributes:
        name: For the ids of tests.
        options: Of a read; `URL` is the address of the registry, `APICURIO` that of an
            API there, and `SCHEMA` the latest version.
        frame: A record's value, of the format, the number of the version and the payload.
        respond: The responses of the registry.
        id: The id of a version, as a user and reasons name it; None if payloads have none.
        unknown: What is said of an id that the registry does not have; empty without ids.
        without: What is said of the payload `x`, which has no id.
    """

    name: str
    options: Mapping[str, str]
    frame: Callable[[Form, int, bytes], Value]
    respond: Callable[[Form, Texts], Callable[[Received], Reply]] = _of_none
    id: Callable[[int], object] | None = None
    unknown: str = ""
    without: str = ""

    def __str__(self) -> str:
        return self.name

    def about(self, number: int) -> str:
        """How reasons name the schema of a payload."""
        return "" if self.id is None else f" (schema id {self.id(number)})"


def id_of(number: int) -> bytes:
    """The magic byte and an id."""
    return b"\0" + number.to_bytes(4, "big")


def _of_registry(name: str, frame: Callable[[Form, int, bytes], Value]) -> Place:
    def respond(form: Form, texts: Texts) -> Callable[[Received], Reply]:
        versions = [
            {"id": number, "schema": text, "schemaType": form.kind}
            for number, text in enumerate(texts, 1)
        ]
        return subjects(**{f"{TOPIC}-value": versions})

    return Place(
        name,
        {"schema.registry.url": "URL", "schema.registry.max.retries": "0"},
        frame,
        respond,
        lambda number: number,
        unknown="responded with 404",
        without="it has no schema id: it begins with the bytes 78, and has 1 in all",
    )


def _in_header(form: Form, number: int, payload: bytes) -> Value:
    return Value(payload, [{"key": "__value_schema_id", "value": id_of(number) + form.suffix}])


def _of_glue(name: str, *, packed: bool) -> Place:
    def frame(form: Form, number: int, payload: bytes) -> Value:
        return Value(framed(form.suffix + payload, version_id(TOPIC, number), packed=packed))

    return Place(
        name,
        {
            "value.framing": "glue",
            "schema.registry.glue.region": "eu-west-1",
            "schema.registry.glue.endpoint": "URL",
        },
        frame,
        lambda form, texts: glue({TOPIC: [*texts]}, kind=str(form.kind)),
        lambda number: version_id(TOPIC, number),
        unknown="AWS Glue does not have it",
        without="it has 1 bytes, and the header of AWS Glue alone has 18",
    )


def _of_apicurio(name: str, frame: Callable[[int, bytes], Value], *, kind: str) -> Place:
    end = "" if kind == "globalId" else "-content-id"
    return Place(
        name,
        {
            "value.framing": f"apicurio{end}",
            "schema.registry.url": "APICURIO",
            "schema.registry.max.retries": "0",
        },
        lambda _form, number, payload: frame(number, payload),
        lambda form, texts: apicurio(f"{TOPIC}-value", texts, str(form.kind)),
        lambda number: number,
        unknown="it does serve other requests, so it has no such schema",
        without=(
            "it has no schema id: it begins with the bytes 78, and has 1 in all; nor is a "
            f"{kind} in the header apicurio.value.{kind}"
        ),
    )


def _in_apicurio_header(number: int, payload: bytes) -> Value:
    return Value(payload, [{"key": "apicurio.value.contentId", "value": number.to_bytes(8, "big")}])


GIVEN: Final = Place(
    "a given schema",
    {"value.schema": "SCHEMA"},
    lambda _form, _number, payload: Value(payload),
)
PREFIX: Final = _of_registry(
    "before the payload",
    lambda form, number, payload: Value(id_of(number) + form.suffix + payload),
)
HEADER: Final = _of_registry("in a header", _in_header)
IN_GLUE: Final = _of_glue("of Glue", packed=False)
PACKED: Final = _of_glue("of Glue, packed", packed=True)
IN_APICURIO: Final = _of_apicurio(
    "of Apicurio",
    lambda number, payload: Value(b"\0" + number.to_bytes(8, "big") + payload),
    kind="globalId",
)
APICURIO_HEADER: Final = _of_apicurio(
    "of Apicurio, in a header", _in_apicurio_header, kind="contentId"
)
CONNECT: Final = Place(
    "of Connect",
    {"value.framing": "connect", "value.schema": "SCHEMA"},
    lambda _form, _number, payload: Value(b'{"schema":{"type":"struct"},"payload":%s}' % payload),
    id=lambda _number: "in the payload",
)
_APICURIO: Final = (IN_APICURIO, APICURIO_HEADER)
WITH_IDS: Final = (PREFIX, HEADER, PACKED, *_APICURIO)
PLACES: Final = (GIVEN, *WITH_IDS, CONNECT)


def can_have(form: Form, place: Place) -> bool:
    """Whether payloads of a format can have a place of ids."""
    if place is CONNECT:
        return form.kind is None
    if place in _APICURIO:
        return form.kind in {"AVRO", "JSON"}
    return place is GIVEN or form.kind is not None
