"""Which version of each API to speak with one broker, and the way down for old brokers.

What ApiVersions says holds for one connection only: a broker may be upgraded between two
(KIP-35). Nothing is sent here; `client.broker` asks, this room draws the conclusions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_protocol.errors import BrokerError, ErrorCode, UnsupportedVersionError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.schema import Request, VersionRange

FIRST_TRY: Final = ApiVersionsRequest.versions.highest


class BrokerVersions:
    """The version ranges that one broker serves.

    Args:
        ranges: API key to versions.
        origin: How they are known, for error texts.
    """

    def __init__(self, ranges: Mapping[int, VersionRange], origin: str) -> None:
        self._ranges = ranges
        self._origin = origin

    def __repr__(self) -> str:
        return f"<BrokerVersions of {len(self._ranges)} APIs, {self._origin}>"

    def range_of(self, request: type[Request]) -> VersionRange | None:
        """The broker's versions of an API, or None where it has none."""
        return self._ranges.get(request.api_key)

    def choose(self, request: type[Request], needed: VersionRange | None = None) -> int:
        """The highest version that both sides speak.

        Args:
            request: The API.
            needed: The versions that can carry what the caller wants; all that are declared
                where nothing is said.

        Raises:
            UnsupportedVersionError: There is none. Says both ranges.
        """
        ours = request.versions if needed is None else needed.intersection(request.versions)
        theirs = self._ranges.get(request.api_key)
        if theirs is None:
            raise UnsupportedVersionError(
                f"the broker has no {request.api_name} API ({self._origin}); "
                f"this needs {request.api_name} {ours}, so a newer broker"
            )
        common = ours.intersection(theirs)
        if common.is_empty:
            remedy = "a newer broker" if theirs.highest < ours.lowest else "a newer pyspark-pykafka"
            raise UnsupportedVersionError(
                f"no common version of {request.api_name}: this needs {ours}, the broker offers "
                f"{theirs} ({self._origin}); {remedy} is required"
            )
        return common.highest


def versions_from(response: ApiVersionsResponse) -> BrokerVersions:
    """What a successful answer says. A range that is upside down counts as absent."""
    ranges = {
        api.api_key: VersionRange(api.min_version, api.max_version) for api in response.api_keys
    }
    return BrokerVersions(
        {key: versions for key, versions in ranges.items() if not versions.is_empty},
        "as its ApiVersions answer says",
    )


def step_down(tried: int, response: ApiVersionsResponse) -> int:
    """The version of ApiVersions to ask again with, after an error.

    Brokers since 2.4 name the versions that they know beside UNSUPPORTED_VERSION (KIP-511);
    older ones leave 0. Each step goes down, so that a confused broker cannot make a loop of it.

    Raises:
        BrokerError: Another error, or nothing lower is left to try.
    """
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION and tried > 0:
        hinted = [a.max_version for a in response.api_keys if a.api_key == response.api_key]
        return max(0, min(hinted[0], FIRST_TRY)) if hinted and hinted[0] < tried else 0
    raise BrokerError(response.error_code, f"ApiVersions v{tried}")


def _fixed(*highest: int) -> Mapping[int, VersionRange]:
    """Versions 0 to `highest` of the APIs with keys 0, 1, 2, ..."""
    return {key: VersionRange(0, version) for key, version in enumerate(highest)}


# A broker below 0.10 closes the connection on ApiVersions. What the newest of those speaks; the
# protocol was not negotiated then, so these are all that can be assumed.
BEFORE_API_VERSIONS: Final = BrokerVersions(
    # Produce, Fetch, ListOffsets, Metadata, 4 inter-broker APIs, OffsetCommit, OffsetFetch,
    # FindCoordinator, JoinGroup, Heartbeat, LeaveGroup, SyncGroup, DescribeGroups, ListGroups
    _fixed(1, 1, 0, 0, 0, 0, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0),
    "assumed of Kafka 0.9, since it closed the connection on ApiVersions",
)
