"""Declarations. No postponed annotations here: those of declarations are read at once."""

from typing import Any, cast

import pytest

from kafka_protocol.wire.schema import (
    ALL_VERSIONS,
    MAX_VERSION,
    NO_VERSIONS,
    Field,
    Request,
    Response,
    Struct,
    VersionRange,
    boolean,
    bytes_,
    default_of,
    describe,
    field,
    float64,
    int16,
    int32,
    parse_versions,
    records_,
    string,
    uuid,
)


class Inner(Struct):
    number: int32 = field(default=-1)
    name: string | None = field(nullable="1+", default=None)


class EchoResponse(Response, api_key=99, versions="0-3", flexible="2+"):
    error_code: int16 = field()


class EchoRequest(Request, api_key=99, versions="0-3", flexible="2+", response=EchoResponse):
    text: string = field()
    is_loud: boolean = field(versions="1+")
    factor: float64 = field()
    topic_id: uuid = field()
    secret: bytes_ = field()
    batch: records_ | None = field(nullable="0+")
    inner: Inner = field(versions="2+", tag=0, ignorable=True)
    others: list[Inner] = field()
    maybe: list[Inner] | None = field(nullable="0+", default=None)


# --- Versions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "versions", "shown"),
    [
        ("none", NO_VERSIONS, "none"),
        ("0+", ALL_VERSIONS, f"0-{MAX_VERSION}"),
        ("7+", VersionRange(7, MAX_VERSION), f"7-{MAX_VERSION}"),
        ("3-5", VersionRange(3, 5), "3-5"),
        ("4", VersionRange(4, 4), "4"),
    ],
)
def test_versions_as_text(text: str, versions: VersionRange, shown: str) -> None:
    assert parse_versions(text) == versions
    assert str(versions) == shown


@pytest.mark.parametrize("text", ["", "+", "3-", "-3", "x", "1-2-3", "3+-4", "all"])
def test_invalid_version_texts(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        parse_versions(text)


def test_version_range_contains_both_ends() -> None:
    versions = VersionRange(3, 5)
    assert [v for v in range(8) if v in versions] == [3, 4, 5]
    assert cast("object", "4") not in versions
    assert not versions.is_empty


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (VersionRange(0, 5), VersionRange(3, 9), VersionRange(3, 5)),
        (VersionRange(0, 9), VersionRange(3, 5), VersionRange(3, 5)),
        (VersionRange(0, 5), VersionRange(5, 9), VersionRange(5, 5)),
    ],
)
def test_intersection(one: VersionRange, other: VersionRange, both: VersionRange) -> None:
    assert one.intersection(other) == other.intersection(one) == both


@pytest.mark.parametrize("other", [VersionRange(6, 9), NO_VERSIONS])
def test_empty_intersection(other: VersionRange) -> None:
    assert VersionRange(1, 5).intersection(other).is_empty


# --- Instances ---------------------------------------------------------------------------------


def test_defaults() -> None:
    message = EchoRequest()
    assert message == EchoRequest(
        text="",
        is_loud=False,
        factor=0.0,
        topic_id=default_of(field_of(EchoRequest, "topic_id")),
        secret=b"",
        batch=None,
        inner=Inner(number=-1, name=None),
        others=[],
        maybe=None,
    )
    assert message.topic_id.int == 0


def test_mutable_defaults_are_not_shared() -> None:
    one, other = EchoRequest(), EchoRequest()
    one.others.append(Inner())
    one.inner.number = 7
    assert other.others == []
    assert other.inner.number == -1


def test_instances_compare_by_value_and_type() -> None:
    assert Inner(number=1) == Inner(number=1)
    assert Inner(number=1) != Inner(number=2)
    assert EchoResponse() != Inner()
    assert Inner() != "Inner"


def test_instances_are_mutable_and_have_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Inner())


def test_unknown_fields_are_rejected() -> None:
    with pytest.raises(TypeError, match="Inner has no field colour, size"):
        Inner(size=1, colour=2)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Inner().colour = 1  # type: ignore[attr-defined]


def test_repr_hides_payloads_and_credentials() -> None:
    message = EchoRequest(text="hello", secret=b"hunter2", batch=memoryview(b"payload"))
    shown = repr(message)
    assert "EchoRequest(text='hello', is_loud=False" in shown
    assert "secret=<7 bytes>, batch=<7 bytes>" in shown
    assert "inner=Inner(number=-1, name=None), others=[], maybe=None" in shown
    assert "hunter2" not in shown
    assert "payload" not in shown


def test_repr_of_an_absent_payload() -> None:
    assert "batch=None" in repr(EchoRequest())


# --- Declarations ------------------------------------------------------------------------------


def field_of(cls: type[Struct], name: str) -> Field:
    return next(f for f in cls.__fields__ if f.name == name)


def test_message_options() -> None:
    assert EchoRequest.api_key == EchoResponse.api_key == 99
    assert EchoRequest.api_name == EchoResponse.api_name == "Echo"
    assert EchoRequest.versions == VersionRange(0, 3)
    assert EchoRequest.flexible == VersionRange(2, MAX_VERSION)
    assert EchoRequest.response is EchoResponse


def test_fields_keep_their_order() -> None:
    assert [f.name for f in EchoRequest.__fields__] == [
        "text", "is_loud", "factor", "topic_id", "secret", "batch", "inner", "others", "maybe",
    ]  # fmt: skip


def test_field_repr() -> None:
    declared = field_of(EchoRequest, "inner")
    assert repr(declared) == f"Field('inner', versions=2-{MAX_VERSION}, tag=0)"


@pytest.mark.parametrize(
    ("name", "primitive", "struct", "element"),
    [
        ("text", "string", None, None),
        ("is_loud", "bool", None, None),
        ("batch", "records", None, None),
        ("inner", None, Inner, None),
        ("others", None, None, Inner),
        ("maybe", None, None, Inner),
    ],
)
def test_shape_of_a_wire_type(name: str, primitive: Any, struct: Any, element: Any) -> None:
    assert describe(field_of(EchoRequest, name).wire_type) == (primitive, struct, element)


@pytest.mark.parametrize("annotation", [int, dict[str, int], str | int, "int32"])
def test_annotation_that_is_not_a_wire_type(annotation: Any) -> None:
    with pytest.raises(TypeError, match="is not a wire type"):

        class Wrong(Struct):
            number: annotation = field()
