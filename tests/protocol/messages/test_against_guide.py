"""The oldest versions, compared with the layouts in the protocol guide of Kafka 0.10.

The guide is older than Kafka's schemas and was not made from them, so it is a second witness; and
the only one that is about brokers of that time. A layout is the types in order, arrays in brackets;
the guide tells only of strings whether they can be null.
"""

from __future__ import annotations

import pytest

from kafka_protocol.schema import Shape, StructMeta, describe, parse_versions
from tests.protocol.catalogue import MESSAGES

STATES = "int32 int32 [string int32 int32 int32 int32 [int32] int32 [int32]]"
PARTITIONS = "[int16 int32 int32 [int32] [int32]]"

# Request and response, for some versions. "string?" can be null; ListOffsets and FindCoordinator
# are the guide's Offsets and GroupCoordinator.
GUIDE = [
    ("ProduceRequest", "0-2", "int16 int32 [string [int32 bytes]]"),
    ("ProduceResponse", "0", "[string [int32 int16 int64]]"),
    ("ProduceResponse", "1", "[string [int32 int16 int64]] int32"),
    ("ProduceResponse", "2", "[string [int32 int16 int64 int64]] int32"),
    ("FetchRequest", "0-2", "int32 int32 int32 [string [int32 int64 int32]]"),
    ("FetchResponse", "0", "[string [int32 int16 int64 bytes]]"),
    ("FetchResponse", "1-2", "int32 [string [int32 int16 int64 bytes]]"),
    ("ListOffsetsRequest", "0", "int32 [string [int32 int64 int32]]"),
    ("ListOffsetsResponse", "0", "[string [int32 int16 [int64]]]"),
    ("MetadataRequest", "0-1", "[string]"),
    ("MetadataResponse", "0", f"[int32 string int32] [int16 string {PARTITIONS}]"),
    (
        "MetadataResponse",
        "1",
        f"[int32 string int32 string?] int32 [int16 string bool {PARTITIONS}]",
    ),
    ("LeaderAndIsrRequest", "0", f"{STATES} [int32 string int32]"),
    ("LeaderAndIsrResponse", "0", "int16 [string int32 int16]"),
    # The guide has an int8 for the bool.
    ("StopReplicaRequest", "0", "int32 int32 bool [string int32]"),
    ("StopReplicaResponse", "0", "int16 [string int32 int16]"),
    ("UpdateMetadataRequest", "0", f"{STATES} [int32 string int32]"),
    ("UpdateMetadataRequest", "1", f"{STATES} [int32 [int32 string int16]]"),
    ("UpdateMetadataRequest", "2", f"{STATES} [int32 [int32 string int16] string?]"),
    ("UpdateMetadataResponse", "0-2", "int16"),
    # The guide has v1 only. v0 differs only in its header (tests/protocol/test_framing.py).
    ("ControlledShutdownRequest", "0-1", "int32"),
    ("ControlledShutdownResponse", "0-1", "int16 [string int32]"),
    ("OffsetCommitRequest", "0", "string [string [int32 int64 string?]]"),
    ("OffsetCommitRequest", "1", "string int32 string [string [int32 int64 int64 string?]]"),
    ("OffsetCommitRequest", "2", "string int32 string int64 [string [int32 int64 string?]]"),
    ("OffsetCommitResponse", "0-2", "[string [int32 int16]]"),
    ("OffsetFetchRequest", "0-1", "string [string [int32]]"),
    ("OffsetFetchResponse", "0-1", "[string [int32 int64 string? int16]]"),
    ("FindCoordinatorRequest", "0", "string"),
    ("FindCoordinatorResponse", "0", "int16 int32 string int32"),
    ("JoinGroupRequest", "0", "string int32 string string [string bytes]"),
    ("JoinGroupResponse", "0", "int16 int32 string string string [string bytes]"),
    ("HeartbeatRequest", "0", "string int32 string"),
    ("HeartbeatResponse", "0", "int16"),
    ("LeaveGroupRequest", "0", "string string"),
    ("LeaveGroupResponse", "0", "int16"),
    ("SyncGroupRequest", "0", "string int32 string [string bytes]"),
    ("SyncGroupResponse", "0", "int16 bytes"),
    ("DescribeGroupsRequest", "0", "[string]"),
    (
        "DescribeGroupsResponse",
        "0",
        "[int16 string string string string [string string string bytes bytes]]",
    ),
    ("ListGroupsRequest", "0", ""),
    ("ListGroupsResponse", "0", "int16 [string string]"),
    ("SaslHandshakeRequest", "0", "string"),
    ("SaslHandshakeResponse", "0", "int16 [string]"),
    ("ApiVersionsRequest", "0", ""),
    ("ApiVersionsResponse", "0", "int16 [int16 int16 int16]"),
]
BY_NAME = {cls.__name__: cls for cls in MESSAGES}


def layout(cls: StructMeta, version: int) -> str:
    """The types of a version's fields as in GUIDE; plain structs are inlined."""
    words = []
    for declared in cls.__fields__:
        if version in declared.versions:
            word = spelled(describe(declared.wire_type), version)
            can_be_null = word == "string" and version in declared.nullable
            words.append(f"{word}?" if can_be_null else word)
    return " ".join(words)


def spelled(shape: Shape, version: int) -> str:
    if shape.element is not None:
        return f"[{spelled(describe(shape.element), version)}]"
    if shape.struct is not None:
        return layout(shape.struct, version)
    return str(shape.primitive).replace("records", "bytes")


@pytest.mark.parametrize(("name", "versions", "expected"), GUIDE)
def test_layout(name: str, versions: str, expected: str) -> None:
    lowest, highest = parse_versions(versions)
    layouts = {layout(BY_NAME[name], version) for version in range(lowest, highest + 1)}
    assert layouts == {expected}


def test_every_message_of_the_guide_is_declared() -> None:
    assert {BY_NAME[name].api_key for name, _, _ in GUIDE} == set(range(19))
