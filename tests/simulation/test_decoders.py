"""The comparison of the two decoders, on responses with batches of all formats."""

from __future__ import annotations

import pytest

from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.wire.framing import response_header_version
from tests.fakes.frames import encode_response
from tests.simulation import decoders
from tests.simulation.producers import batch_of

STYLES = ["2 none", "2 zstd", "2 gzip", "1 lz4", "1 none", "0 none"]
VERSION = 11
VALUES = [(b"k", b"v%d" % number) for number in range(5)] + [(None, b"")]


def frame(records: bytes) -> bytes:
    """A Fetch response with these records."""
    topic = FetchResponse.FetchableTopicResponse
    data = topic.PartitionData(high_watermark=1_000, records=records)
    response = FetchResponse(responses=[topic(topic="in", partitions=[data])])
    assert response_header_version(FetchResponse, VERSION) == 0
    return encode_response(response, VERSION, 7)


@pytest.mark.parametrize("style", STYLES)
def test_both_decoders_agree(style: str) -> None:
    assert not [*decoders.differences(frame(batch_of(style, VALUES, 1_000)), VERSION)]


def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoders, "_by_column", lambda data, place: iter(()))
    (difference,) = decoders.differences(frame(batch_of("2 none", VALUES, 1_000)), VERSION)
    assert difference == ("Fetch v11 of in-0: columns have 0 records, 6 were decoded one by one")
