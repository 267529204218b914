"""The declarations of messages: `Struct`, `field()`, version ranges. No encoding here.

A declaration reads like the protocol guide, once for all versions::

    class OffsetForLeaderPartition(Struct):
        partition: int32 = field()
        current_leader_epoch: int32 = field(versions="2+", default=-1, ignorable=True)  # KIP-320

The annotation is the wire type and, to a type checker, the Python type: `int32` is an `int`,
`string | None` an `str | None`, `list[Topic]` a list of structs. Instances have slots, compare by
value and print like their constructor call. A field that a version lacks has its default after
reading; writing another value to such a version is an error, unless the field is ignorable.

`dataclasses` are too slow here: they compile source for each class, half a millisecond each, and
Spark starts many Python processes. Source of the rules: Kafka's message generator
(`clients/src/main/resources/common/message/README.md`), KIP-482.
"""

from __future__ import annotations

import inspect
import uuid as _uuid
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    # In typing since Python 3.11, and without effect at run time.
    def dataclass_transform(**_options):
        """Do nothing."""
        return lambda cls: cls


MAX_VERSION: Final = 2**15 - 1
# For `field(at_most=...)`: more brokers, APIs, features or SASL mechanisms than any cluster has.
MAX_ELEMENTS: Final = 100_000


class WireType(str):
    """The name of a primitive wire type, as Kafka's schemas spell it."""

    __slots__ = ()


boolean: TypeAlias = Annotated[bool, WireType("bool")]
int8: TypeAlias = Annotated[int, WireType("int8")]
int16: TypeAlias = Annotated[int, WireType("int16")]
uint16: TypeAlias = Annotated[int, WireType("uint16")]
int32: TypeAlias = Annotated[int, WireType("int32")]
uint32: TypeAlias = Annotated[int, WireType("uint32")]
int64: TypeAlias = Annotated[int, WireType("int64")]
float64: TypeAlias = Annotated[float, WireType("float64")]
uuid: TypeAlias = Annotated[_uuid.UUID, WireType("uuid")]
string: TypeAlias = Annotated[str, WireType("string")]
# Read as a view of the frame, without a copy.
bytes_: TypeAlias = Annotated["bytes | memoryview", WireType("bytes")]
records_: TypeAlias = Annotated["bytes | memoryview", WireType("records")]


class VersionRange(NamedTuple):
    """Versions from `lowest` to `highest`, both included; empty if `lowest > highest`."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __str__(self) -> str:
        if self.lowest > self.highest:
            return "none"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"

    @property
    def is_empty(self) -> bool:
        """Whether no version is in it."""
        return self.lowest > self.highest

    def intersection(self, other: VersionRange) -> VersionRange:
        """The versions that are in both."""
        return VersionRange(max(self.lowest, other.lowest), min(self.highest, other.highest))


NO_VERSIONS: Final = VersionRange(0, -1)
ALL_VERSIONS: Final = VersionRange(0, MAX_VERSION)


def parse_versions(text: str) -> VersionRange:
    """`"3-5"`, `"7+"`, `"4"` or `"none"` as a range.

    Raises:
        ValueError: The text does not have one of these forms.
    """
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return VersionRange(int(text[:-1]), MAX_VERSION)
    lowest, dash, highest = text.partition("-")
    return VersionRange(int(lowest), int(highest if dash else lowest))


class Field:
    """One field of a declaration, made by `field()`, which documents the attributes."""

    __slots__ = (
        "at_most",
        "default",
        "ignorable",
        "name",
        "nullable",
        "repeats",
        "tag",
        "versions",
        "wire_type",
    )

    name: str
    wire_type: Any
    versions: VersionRange
    nullable: VersionRange
    default: Any
    tag: int | None
    ignorable: bool
    at_most: int | None
    repeats: bool

    def __repr__(self) -> str:
        return f"Field({self.name!r}, versions={self.versions}, tag={self.tag})"


_MISSING: Final[Any] = object()


def field(  # noqa: PLR0913 - the options of a declaration, each with a default
    *,
    versions: str = "0+",
    nullable: str = "none",
    default: Any = _MISSING,
    tag: int | None = None,
    ignorable: bool = False,
    at_most: int | None = None,
    repeats: bool = False,
) -> Any:
    """Declare a field.

    Args:
        versions: The message versions that have the field.
        nullable: The versions in which it can be null.
        default: Its default value; zero, empty or false by default.
        tag: Its number among the tagged fields (KIP-482); None for a plain field.
        ignorable: Whether writing a version without the field silently drops the value.
        at_most: The maximum number of elements of an array; None if it depends on the size of the
            cluster, so that only the received bytes limit it.
        repeats: Whether one message after the other has the same large value. The same bytes are
            then decoded once: messages share the value, so do not modify it.
    """
    declared = Field()
    declared.versions = parse_versions(versions)
    declared.nullable = parse_versions(nullable)
    declared.default = default
    declared.tag = tag
    declared.ignorable = ignorable
    declared.at_most = at_most
    declared.repeats = repeats
    return declared


_ZERO: Final = {
    "bool": False,
    "float64": 0.0,
    "uuid": _uuid.UUID(int=0),
    "string": "",
    "bytes": b"",
    "records": None,
}


@dataclass_transform(kw_only_default=True)
class StructMeta(type):  # point: slow-dataclasses
    """Turns a class body of `name: type = field()` into slots and a table of fields."""

    __fields__: tuple[Field, ...]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> StructMeta:
        """Move the fields from the class body to `__fields__`."""
        own = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        for key, declared in own.items():
            del namespace[key]
            declared.name = key
        namespace["__slots__"] = tuple(own)
        cls = super().__new__(mcs, name, bases, namespace, **options)
        cls.__fields__ = tuple(own.values())
        for key, wire_type in inspect.get_annotations(cls).items():
            if key in own:
                own[key].wire_type = wire_type
                own[key].default = _default(own[key])
        return cls


def _default(declared: Field) -> Any:
    """The declared default, or that of the wire type."""
    if declared.default is not _MISSING:
        return declared.default
    shape = describe(declared.wire_type)
    if shape.element is not None:
        return _EMPTY_ARRAY
    if shape.struct is not None:
        return shape.struct
    return _ZERO.get(shape.primitive or "", 0)


# Each instance gets new mutable defaults; for a struct, the default is its class.
_EMPTY_ARRAY: Final = object()


class Shape(NamedTuple):
    """The kind of a wire type: exactly one of the three is set."""

    primitive: str | None = None
    struct: StructMeta | None = None
    element: Any = None


def describe(wire_type: Any) -> Shape:
    """The shape of a field's annotation (`X | None` is the same as `X`).

    Raises:
        TypeError: It is not a wire type, struct or list of them.
    """
    parts = [part for part in getattr(wire_type, "__args__", ()) if part is not type(None)]
    if isinstance(wire_type, StructMeta):
        return Shape(struct=wire_type)
    metadata = getattr(wire_type, "__metadata__", None)
    if metadata is not None:
        return Shape(primitive=str(metadata[0]))
    if getattr(wire_type, "__origin__", None) is list:
        return Shape(element=parts[0])
    if len(parts) == 1:
        return describe(parts[0])
    raise TypeError(f"{wire_type!r} is not a wire type")


class Struct(metaclass=StructMeta):
    """A group of fields in wire order. The base of all declarations."""

    __slots__ = ()
    __fields__: ClassVar[tuple[Field, ...]]

    def __init__(self, **values: Any) -> None:
        for declared in self.__fields__:
            name = declared.name
            setattr(self, name, values.pop(name) if name in values else default_of(declared))
        if values:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(values))}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in self.__fields__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={_shown(f, getattr(self, f.name))}" for f in self.__fields__)
        return f"{type(self).__qualname__}({shown})"


# Payloads and credentials must not be logged.
_HIDDEN_TYPES: Final = frozenset({"bytes", "records"})


def _shown(declared: Field, value: Any) -> str:
    if value is not None and describe(declared.wire_type).primitive in _HIDDEN_TYPES:
        return f"<{len(value)} bytes>"
    return repr(value)


def default_of(declared: Field) -> Any:
    """The default value of a field; a new object if it is mutable."""
    default = declared.default
    if default is _EMPTY_ARRAY:
        return []
    if isinstance(default, StructMeta):
        return default()
    return default


class Message(Struct):
    """The body of a request or a response: a struct with an API key and versions.

    Class options:
        api_key: The API's number; request and response share it.
        versions: The declared versions, for example `"0-13"`.
        flexible: The versions with compact forms and tagged fields, for example `"9+"`.
    """

    __slots__ = ()
    api_key: ClassVar[int]
    api_name: ClassVar[str]
    versions: ClassVar[VersionRange]
    flexible: ClassVar[VersionRange]

    def __init_subclass__(
        cls, *, api_key: int = -1, versions: str = "none", flexible: str = "none"
    ) -> None:
        super().__init_subclass__()
        cls.api_key = api_key
        cls.api_name = cls.__name__.removesuffix("Request").removesuffix("Response")
        cls.versions = parse_versions(versions)
        cls.flexible = parse_versions(flexible)


class Response(Message):
    """The body of a response."""

    __slots__ = ()


class Request(Message):
    """The body of a request; `response` is the class of its response."""

    __slots__ = ()
    response: ClassVar[type[Response]]

    def __init_subclass__(
        cls,
        *,
        api_key: int = -1,
        versions: str = "none",
        flexible: str = "none",
        response: type[Response] = Response,
    ) -> None:
        super().__init_subclass__(api_key=api_key, versions=versions, flexible=flexible)
        cls.response = response
