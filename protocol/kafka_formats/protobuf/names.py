"""The names of the messages in compiled files, and the one that a user means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_formats.errors import SchemaError

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

    from kafka_formats.protobuf.indexes import Index

_MAX_LISTED = 50


def messages_in(file: FileDescriptorProto) -> dict[Index, str]:
    """Place -> full name of each message of a file, also of nested ones."""
    return dict(_in_descriptors(file.message_type, (), file.package))


def name_meant(wanted: str, names: Sequence[str]) -> str:
    """The full name that is wanted, or that ends with it after a dot.

    Raises:
        SchemaError: There is no such name, or there are several.
    """
    matches = [each for each in names if each == wanted]
    matches = matches or [each for each in names if each.endswith(f".{wanted}")]
    if len(matches) != 1:
        what = "several messages have" if matches else "no message has"
        raise SchemaError(
            f"{what} the name {wanted!r}; there are {', '.join((matches or names)[:_MAX_LISTED])}"
        )
    return matches[0]


def _in_descriptors(
    messages: Sequence[DescriptorProto], place: Index, scope: str
) -> Iterator[tuple[Index, str]]:
    for number, message in enumerate(messages):
        name = f"{scope}.{message.name}" if scope else message.name
        yield (*place, number), name
        yield from _in_descriptors(message.nested_type, (*place, number), name)
