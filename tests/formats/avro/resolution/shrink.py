"""Smaller pairs of the same fault: parts are taken out, as long as it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.formats.avro.resolution.pairs import Json, Pair, Value, kind_of


def smallest(pair: Pair, has_fault: Callable[[Pair], bool]) -> Pair:
    """A pair of which no part can be taken out without losing the fault."""
    for smaller in _smaller(pair):
        if has_fault(smaller):
            return smallest(smaller, has_fault)
    return pair


def _smaller(pair: Pair) -> Iterator[Pair]:
    if len(pair.values) > 1:
        yield from (pair._replace(values=[each]) for each in pair.values)
    for path, value in _parts(pair.writer, pair.reader, pair.values):
        yield Pair(*path, value)
    yield from _without_fields(pair)


def _parts(
    writer: Json, reader: Json, values: list[Value]
) -> Iterator[tuple[tuple[Json, Json], list[Value]]]:
    """The parts of a writer and a reader that belong together, with their values."""
    match kind_of(writer), kind_of(reader):
        case "union", kind:
            for number, branch in enumerate(writer):
                own = [value for chosen, value in values if chosen == number]
                yield (branch, reader), own
                if kind == "union" and number < len(reader):
                    yield (branch, reader[number]), own
        case _, "union":
            yield from (((writer, branch), values) for branch in reader)
        case ("array", "array") | ("map", "map"):
            key = "items" if writer["type"] == "array" else "values"
            items = [item for each in values for item in each]
            own = items if key == "items" else [value for _, value in items]
            yield (writer[key], reader[key]), own
        case "record", "record":
            types = {each["name"]: each["type"] for each in reader["fields"]}
            for field in writer["fields"]:
                if field["name"] in types:
                    own = [each[field["name"]] for each in values]
                    yield (field["type"], types[field["name"]]), own


def _without_fields(pair: Pair) -> Iterator[Pair]:
    """The pair without one of the fields of its outer records."""
    writer, reader, values = pair
    both = [each["name"] for each in _fields(writer)] + [each["name"] for each in _fields(reader)]
    for name in dict.fromkeys(both):
        yield Pair(_without(writer, name), _without(reader, name), values)


def _fields(schema: Json) -> list[Json]:
    return schema["fields"] if kind_of(schema) == "record" else []


def _without(schema: Json, name: str) -> Json:
    kept = [each for each in _fields(schema) if each["name"] != name]
    return schema | {"fields": kept} if kind_of(schema) == "record" else schema
