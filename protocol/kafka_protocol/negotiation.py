"""Which version of each API to speak with one broker, and the way down for old brokers.

What ApiVersions says holds for one connection only: a broker may be upgraded between two
(KIP-35). Nothing is sent here; `client.broker` asks, this room draws the conclusions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_protocol.errors import BrokerError, ErrorCode, UnsupportedVersionError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.releases import first_release, served_by
from kafka_protocol.schema import Request, VersionRange

FIRST_TRY: Final = ApiVersionsRequest.versions.highest


class BrokerVersions:
    """The version ranges that one broker serves.

    Args:
        ranges: API key to versions.
        origin: How they are known, for error texts.
    """

    def __init__(self, ranges: Mapping[int, VersionRange], origin: str) -> None:
        self.ranges = ranges
        self._origin = origin

    def __repr__(self) -> str:
        return f"<BrokerVersions of {len(self.ranges)} APIs, {self._origin}>"

    def range_of(self, request: type[Request]) -> VersionRange | None:
        """The broker's versions of an API, or None where it has none."""
        return self.ranges.get(request.api_key)

    def choose(self, request: type[Request], needed: VersionRange | None = None) -> int:
        """The highest version that both sides speak.

        Args:
            request: The API.
            needed: The versions that can carry what the caller wants; all that are declared
                where nothing is said.

        Raises:
            UnsupportedVersionError: There is none. Says both ranges, and which broker would do.
        """
        ours = request.versions if needed is None else needed.intersection(request.versions)
        theirs = self.ranges.get(request.api_key)
        if theirs is None:
            raise UnsupportedVersionError(
                f"the broker has no {request.api_name} API ({self._origin}); "
                f"this needs {request.api_name} {ours}, so {_newer_broker(request, ours.lowest)}"
            )
        common = ours.intersection(theirs)
        if common.is_empty:
            remedy = (
                _newer_broker(request, ours.lowest)
                if theirs.highest < ours.lowest
                else "a newer pyspark-pykafka"
            )
            raise UnsupportedVersionError(
                f"no common version of {request.api_name}: this needs {ours}, the broker offers "
                f"{theirs} ({self._origin}); {remedy} is required"
            )
        return common.highest


def _newer_broker(request: type[Request], version: int) -> str:
    release = first_release(request.api_key, version)
    return f"Kafka {release} or newer" if release else "a newer broker"


def common_versions(brokers: Iterable[BrokerVersions]) -> BrokerVersions:
    """What every one of some brokers serves: a rolling upgrade mixes them (KIP-35).

    Args:
        brokers: At least one.
    """
    first, *others = brokers
    common = dict(first.ranges)
    for broker in others:
        common = {
            api_key: versions.intersection(broker.ranges[api_key])
            for api_key, versions in common.items()
            if api_key in broker.ranges
        }
    return BrokerVersions(
        {key: versions for key, versions in common.items() if not versions.is_empty},
        f"in common to {len(others) + 1} brokers",
    )


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


def assumed_versions(release: str) -> BrokerVersions:
    """What a broker that does not know ApiVersions speaks: it is older than Kafka 0.10.

    Args:
        release: Which one to take it for (`kafka.broker.version.fallback`).
    """
    return BrokerVersions(
        served_by(release), f"assumed of Kafka {release}, as kafka.broker.version.fallback says"
    )
