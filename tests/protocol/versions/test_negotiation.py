"""The API version that is chosen for a broker."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import BrokerError, ErrorCode, UnsupportedVersionError
from kafka_protocol.messages.api_versions import ApiVersionsResponse
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.versions.negotiation import (
    FIRST_VERSION_TO_TRY,
    BrokerVersions,
    assumed_versions,
    common_versions,
    next_version_to_try,
    versions_from,
)
from kafka_protocol.wire.schema import Request, VersionRange

ApiVersion = ApiVersionsResponse.ApiVersion
API_VERSIONS = ApiVersionsResponse.api_key


def broker_with(**metadata: int) -> BrokerVersions:
    return BrokerVersions({MetadataRequest.api_key: VersionRange(**metadata)}, "as a test says")


# --- Choosing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lowest", "highest", "chosen"),
    [
        (0, 0, 0),
        (0, 5, 5),
        (0, MetadataRequest.versions.highest, MetadataRequest.versions.highest),
        (0, 99, MetadataRequest.versions.highest),
        (MetadataRequest.versions.highest, 99, MetadataRequest.versions.highest),
    ],
)
def test_highest_common_version(lowest: int, highest: int, chosen: int) -> None:
    assert broker_with(lowest=lowest, highest=highest).choose(MetadataRequest) == chosen


@pytest.mark.parametrize(
    ("needed", "chosen"),
    [(VersionRange(0, 3), 3), (VersionRange(2, 99), 9), (VersionRange(9, 9), 9)],
)
def test_needed_narrows_the_choice(needed: VersionRange, chosen: int) -> None:
    assert broker_with(lowest=1, highest=9).choose(MetadataRequest, needed) == chosen


@pytest.mark.parametrize(
    ("offered", "request_class", "needed", "text"),
    [
        (
            VersionRange(0, 8),
            MetadataRequest,
            VersionRange(10, 99),
            "no common version of Metadata: this needs 10-13, the broker offers 0-8 "
            "(as a test says); Kafka 2.8 or newer is required",
        ),
        (
            VersionRange(90, 99),
            MetadataRequest,
            None,
            "no common version of Metadata: this needs 0-13, the broker offers 90-99 "
            "(as a test says); a newer pyspark-pykafka is required",
        ),
        (
            VersionRange(0, 9),
            FetchRequest,
            None,
            "the broker has no Fetch API (as a test says); this needs Fetch 0-18, "
            "so Kafka 0.8.0 or newer",
        ),
    ],
    ids=["too old", "too new", "without the API"],
)
def test_fault_12_no_common_version(
    offered: VersionRange, request_class: type[Request], needed: VersionRange | None, text: str
) -> None:
    versions = broker_with(lowest=offered.lowest, highest=offered.highest)
    with pytest.raises(UnsupportedVersionError) as caught:
        versions.choose(request_class, needed)
    assert str(caught.value) == text


def test_range_of() -> None:
    versions = broker_with(lowest=1, highest=9)
    assert versions.range_of(MetadataRequest) == VersionRange(1, 9)
    assert versions.range_of(FetchRequest) is None


def test_repr() -> None:
    assert repr(broker_with(lowest=1, highest=9)) == "<BrokerVersions of 1 APIs, as a test says>"


# --- The versions of one broker ----------------------------------------------------------------


def test_versions_from_a_response() -> None:
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=1, min_version=4, max_version=18),
            ApiVersion(api_key=3, min_version=5, max_version=4),
            ApiVersion(api_key=999, min_version=0, max_version=0),
        ]
    )
    versions = versions_from(response)
    assert versions.range_of(FetchRequest) == VersionRange(4, 18)
    assert versions.range_of(MetadataRequest) is None  # min > max
    assert repr(versions) == "<BrokerVersions of 2 APIs, from its ApiVersions response>"


@pytest.mark.parametrize(
    ("release", "api", "highest"),
    [
        ("0.8.2", ProduceRequest, 0),
        ("0.8.2.2", FetchRequest, 0),
        ("0.9.0", ProduceRequest, 1),
        ("0.9.0.1", FetchRequest, 1),
        ("0.9.0.1", ListOffsetsRequest, 0),
        ("0.9.0.1", MetadataRequest, 0),
    ],
)
def test_fault_11_assumed_versions_of_an_old_broker(
    release: str, api: type[Request], highest: int
) -> None:
    assert assumed_versions(release).range_of(api) == VersionRange(0, highest)


# --- Brokers of different versions --------------------------------------------------------------


def test_fault_13_common_versions() -> None:
    # The example of KIP-35: two brokers, and an API of only one of them.
    one = BrokerVersions({0: VersionRange(0, 3), 1: VersionRange(2, 3)}, "B1")
    two = BrokerVersions(
        {0: VersionRange(1, 2), 1: VersionRange(0, 3), 2: VersionRange(0, 0)}, "B2"
    )
    common = common_versions([one, two])
    assert common.ranges == {0: VersionRange(1, 2), 1: VersionRange(2, 3)}
    assert repr(common) == "<BrokerVersions of 2 APIs, common to 2 brokers>"
    assert common_versions([one]).ranges == one.ranges


def test_fault_13_no_common_version() -> None:
    old = BrokerVersions({1: VersionRange(0, 3)}, "old")
    new = BrokerVersions({1: VersionRange(4, 18)}, "new")
    with pytest.raises(UnsupportedVersionError, match="has no Fetch API"):
        common_versions([old, new]).choose(FetchRequest)


# --- The next version to try -------------------------------------------------------------------


def unsupported(*hints: ApiVersion) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=list(hints))


def hint(highest: int) -> ApiVersion:
    return ApiVersion(api_key=API_VERSIONS, min_version=0, max_version=highest)


@pytest.mark.parametrize(
    ("tried", "response", "next_try"),
    [
        (4, unsupported(), 0),
        (4, unsupported(hint(3)), 3),
        (4, unsupported(hint(0)), 0),
        (4, unsupported(ApiVersion(api_key=1, max_version=3)), 0),
        (4, unsupported(ApiVersion(api_key=1, max_version=3), hint(2)), 2),
        # Useless hints (equal, higher, negative): try the lowest version.
        (4, unsupported(hint(4)), 0),
        (4, unsupported(hint(5)), 0),
        (4, unsupported(hint(-1)), 0),
        (1, unsupported(hint(1)), 0),
    ],
)
def test_fault_11_next_version_to_try(
    tried: int, response: ApiVersionsResponse, next_try: int
) -> None:
    assert next_version_to_try(tried, response) == next_try


@pytest.mark.parametrize("highest", range(-2, 8))
def test_fault_11_no_hint_causes_an_endless_loop(highest: int) -> None:
    tried = FIRST_VERSION_TO_TRY
    tries = [tried]
    with pytest.raises(BrokerError, match="ApiVersions v0: the broker answered UNSUPPORTED"):
        while True:
            tried = next_version_to_try(tried, unsupported(hint(highest)))
            tries.append(tried)
    assert tries == sorted(set(tries), reverse=True)
    assert tries[-1] == 0


def test_another_error_is_raised() -> None:
    response = ApiVersionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(BrokerError, match=r"ApiVersions v4: .* CLUSTER_AUTHORIZATION_FAILED"):
        next_version_to_try(4, response)
