"""A topic whose values are payloads of versions of a schema, in each format and place of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pytest

from tests.fakes.registry import FakeRegistry, Received, Reply, registry
from tests.formats.suite.form import Form
from tests.formats.suite.forms import FORMS, Where, anywhere
from tests.formats.suite.places import PLACES, PREFIX, Place, can_have
from tests.formats.suite.reading import TOPIC, Options, Query, Row, Value, written

ID: Final = pa.field("id", pa.int64(), nullable=False)
WHO: Final = pa.field("who", pa.string())
FIRST: Final = pa.struct([ID])
SECOND: Final = pa.struct([ID, WHO])
ANN: Final[Row] = {"id": 6, "who": "ann"}
PERMISSIVE: Final[Options] = {"mode": "PERMISSIVE"}
DROPMALFORMED: Final[Options] = {"mode": "DROPMALFORMED"}


def each_place(*places: Place, where: Where = anywhere) -> pytest.MarkDecorator:
    """Run a test for each format that has a capability, in each of these places of ids."""
    cases = [
        pytest.param(form, place, id=f"{form}, {place}")
        for form in filter(where, FORMS)
        for place in places or PLACES
        if can_have(form, place)
    ]
    return pytest.mark.parametrize(("form", "place"), cases)


class Topic:
    """The topic and the registry of its schema.

    Args:
        form: The format.
        place: Where payloads have the id of their schema.
        versions: The columns of each version; a text is a schema as it is.
        fake: The registry.
    """

    def __init__(
        self, form: Form, place: Place, versions: Sequence[pa.StructType | str], fake: FakeRegistry
    ) -> None:
        self.form = form
        self.place = place
        self.versions = [*versions]
        self.fake = fake
        fake.respond = self._respond

    def _respond(self, request: Received) -> Reply:
        """Not once for all requests: tests add versions."""
        return self.place.respond(self.form, self.texts)(request)

    @property
    def texts(self) -> list[str]:
        """The schemas."""
        return [each if isinstance(each, str) else self.form.schema(each) for each in self.versions]

    @property
    def options(self) -> dict[str, str]:
        """The options of a read of the values."""
        api = f"{self.fake.url}/apis/registry/v3"
        known = {"URL": self.fake.url, "APICURIO": api, "SCHEMA": self.texts[-1]}
        given = {"value.format": self.form.format, **self.place.options}
        return {name: known.get(each, each) for name, each in given.items()}

    def value(self, version: int, row: Row) -> Value:
        """A record's value of a version, which counts from 1."""
        return self.framed(version, self.form.encode(self.versions[version - 1], row))

    def framed(self, version: int, payload: bytes) -> Value:
        """A record's value with the id of a version, whatever its payload is."""
        return self.place.frame(self.form, version, payload)

    def add(self, columns: pa.StructType | str) -> None:
        """Register a version."""
        self.versions.append(columns)

    def query(
        self,
        columns: Sequence[str] = ("value", "offset"),
        more: Options | None = None,
        **arguments: Any,
    ) -> Query:
        """A read of the topic, with more options, and other arguments of `Query`."""
        return Query({**self.options, **(more or {})}, columns, **arguments)

    def write(
        self, values: pa.Array, more: Options | None = None, topic: str | None = TOPIC
    ) -> list[bytes | None]:
        """The payloads of a write of values, with more options."""
        rows = pa.RecordBatch.from_arrays([values], ["value"])
        found: list[bytes | None]
        found = written({**self.options, **(more or {})}, rows, topic)["value"].to_pylist()
        return found


_SERVERS: Final[list[FakeRegistry]] = []


@contextmanager
def serving() -> Iterator[None]:
    """One address for all topics: a client of another one takes botocore long to make."""
    with registry(lambda _: Reply(404, {})) as fake:
        _SERVERS.append(fake)
        yield
        _SERVERS.remove(fake)


@contextmanager
def topic(form: Form, place: Place = PREFIX, *versions: pa.StructType | str) -> Iterator[Topic]:
    """A topic with these versions, one at a time."""
    fake = _SERVERS.pop()
    fake.received.clear()
    try:
        yield Topic(form, place, versions or [SECOND], fake)
    finally:
        _SERVERS.append(fake)
