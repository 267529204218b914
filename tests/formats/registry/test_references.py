"""The schemas that a schema refers to: their order, circles and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.avro.schema import RecordSchema, parse_schema
from kafka_formats.errors import RegistryError
from kafka_formats.registry.references import resolve
from kafka_formats.registry.responses import SchemaBody
from kafka_formats.registry.schemas import Reference


def to(name: str) -> Reference:
    return Reference(name, f"{name}-subject", 1)


def schemas(graph: Mapping[str, Sequence[str]]) -> dict[str, SchemaBody]:
    return {
        name: SchemaBody("AVRO", f"text of {name}", tuple(map(to, needed)))
        for name, needed in graph.items()
    }


def names(graph: Mapping[str, Sequence[str]], *roots: str) -> list[str]:
    """The reference names in their order; each schema may be fetched once."""
    left = schemas(graph)
    found = resolve("schema id 7", [*map(to, roots)], lambda each: left.pop(each.name))
    assert all(text == f"text of {name}" for name, text in found)
    return [name for name, _ in found]


def test_a_schema_comes_after_those_that_it_needs() -> None:
    assert names({}) == []
    assert names({"a": "b", "b": "c", "c": ""}, "a") == ["c", "b", "a"]
    assert names({"a": "c", "b": "c", "c": ""}, "a", "b") == ["c", "a", "b"]


@given(
    st.dictionaries(st.integers(0, 20), st.sets(st.integers(0, 20), max_size=5), min_size=1).map(
        lambda graph: {
            str(node): [str(n) for n in graph.get(node, ()) if n < node] for node in range(21)
        }
    ),
    st.sets(st.integers(0, 20), max_size=5),
)
def test_each_schema_comes_once_and_after_those_that_it_needs(
    graph: dict[str, list[str]], roots: set[int]
) -> None:
    order = names(graph, *map(str, roots))
    assert len(set(order)) == len(order)
    assert {*map(str, roots)} <= {*order}
    for i, name in enumerate(order):
        assert {*graph[name]} <= {*order[:i]}


def test_dependencies_are_what_an_avro_schema_needs() -> None:
    texts = {
        "Line": '{"type":"record","name":"Line","fields":[{"name":"price","type":"Price"}]}',
        "Price": '{"type":"fixed","name":"Price","size":4}',
    }
    needs = {"Line": (to("Price"),), "Price": ()}
    found = resolve(
        "schema id 7", [to("Line")], lambda r: SchemaBody("AVRO", texts[r.name], needs[r.name])
    )
    root = '{"type":"record","name":"Order","fields":[{"name":"line","type":"Line"}]}'
    assert isinstance(parse_schema(root, [text for _, text in found]), RecordSchema)


def test_the_first_schema_of_a_name_is_used() -> None:
    first, second = Reference("n", "a", 1), Reference("n", "b", 1)
    found = resolve("x", [first, second], lambda each: SchemaBody("AVRO", each.subject, ()))
    assert found == (("n", "a"),)


@pytest.mark.parametrize(
    "graph", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "b"}]
)
def test_a_circle_is_an_error_that_shows_it(graph: dict[str, str]) -> None:
    with pytest.raises(RegistryError, match=r"^schema id 7: .* circle: 'a-subject' version 1 -> '"):
        names(graph, "a")


def test_a_circle_with_other_names_is_an_error() -> None:
    numbers = iter(range(100))

    def fetch(_: Reference) -> SchemaBody:
        return SchemaBody("AVRO", "x", (Reference(f"name {next(numbers)}", "a", 1),))

    with pytest.raises(RegistryError, match=r"circle: 'a' version 1 -> 'a' version 1$"):
        resolve("x", [Reference("n", "a", 1)], fetch)


def test_too_many_schemas_are_an_error() -> None:
    chain = {str(i): [str(i + 1)] for i in range(300)}
    assert len(names(chain | {"200": []}, "1")) == 200
    with pytest.raises(RegistryError, match=r"^schema id 7: it needs more than 200 schemas$"):
        names(chain, "1")


def test_too_much_text_is_an_error() -> None:
    text = "x" * (9 * 1024 * 1024)
    with pytest.raises(RegistryError, match=r"more than 16777216 characters$"):
        resolve("x", [to("a"), to("b")], lambda _: SchemaBody("AVRO", text, ()))
