"""Chooses the version of each API for one broker, and of ApiVersions itself for an old one.

An ApiVersions response is valid for one connection only: a broker may be upgraded between two
(KIP-35). This module sends nothing; `client.broker` sends the requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_protocol.errors import BrokerError, ErrorCode, UnsupportedVersionError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.versions.releases import first_release, served_by
from kafka_protocol.wire.schema import Request, VersionRange

FIRST_VERSION_TO_TRY: Final = ApiVersionsRequest.versions.highest


class BrokerVersions:
    """The version ranges that one broker serves, by API key, and their origin, for error texts."""

    def __init__(self, ranges: Mapping[int, VersionRange], origin: str) -> None:
        self.ranges = ranges
        self._origin = origin

    def __repr__(self) -> str:
        return f"<BrokerVersions of {len(self.ranges)} APIs, {self._origin}>"

    def range_of(self, request: type[Request]) -> VersionRange | None:
        """The broker's versions of an API, or None."""
        return self.ranges.get(request.api_key)

    def choose(self, request: type[Request], needed: VersionRange | None = None) -> int:
        """The highest common version within `needed`, by default of all that are declared.

        Raises:
            UnsupportedVersionError: There is no common version. Names both ranges, and a release.
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
    """The versions that one or more brokers all serve; a rolling upgrade mixes them (KIP-35)."""
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
        f"common to {len(others) + 1} brokers",
    )


def versions_from(response: ApiVersionsResponse) -> BrokerVersions:
    """The versions of a successful response. An empty range (min > max) counts as absent."""
    ranges = {
        api.api_key: VersionRange(api.min_version, api.max_version) for api in response.api_keys
    }
    return BrokerVersions(
        {key: versions for key, versions in ranges.items() if not versions.is_empty},
        "from its ApiVersions response",
    )


def next_version_to_try(tried: int, response: ApiVersionsResponse) -> int:
    """The lower version of ApiVersions to try after UNSUPPORTED_VERSION.

    Brokers since 2.4 return their versions with UNSUPPORTED_VERSION (KIP-511); for older ones
    it is 0. Always lower than `tried`, so a faulty broker cannot cause an endless loop.

    Raises:
        BrokerError: Another error, or version 0 was tried already.
    """
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION and tried > 0:
        hints = [api.max_version for api in response.api_keys if api.api_key == response.api_key]
        return max(0, min(hints[0], FIRST_VERSION_TO_TRY)) if hints and hints[0] < tried else 0
    raise BrokerError(response.error_code, f"ApiVersions v{tried}")


def assumed_versions(release: str) -> BrokerVersions:
    """The versions of a broker without ApiVersions, which is assumed to be of this release."""
    return BrokerVersions(
        served_by(release), f"assumed from kafka.broker.version.fallback={release}"
    )
