"""Record batches for property tests."""

from __future__ import annotations

import crc32c
from hypothesis import strategies as st

from kafka_protocol.records.batch import BatchContents, BatchHeader, build_batch
from kafka_protocol.records.compression import CompressionCodec, compress
from kafka_protocol.records.record import Header, Record, encode_records

NOW = 1_700_000_000_000


def header_of(**fields: int) -> BatchHeader:
    """A header of an uncompressed batch; only what a test is about needs saying."""
    zero = dict.fromkeys(BatchHeader._fields, 0)
    return BatchHeader(**(zero | {"magic": 2} | fields))


def payloads() -> st.SearchStrategy[bytes | None]:
    """Keys and values: null, empty, short, and across the sizes where varints grow."""
    sizes = st.sampled_from([0, 1, 62, 63, 64, 65, 8190, 8191, 8192])
    return st.none() | st.binary(max_size=40) | sizes.map(lambda size: b"x" * size)


def headers() -> st.SearchStrategy[tuple[Header, ...]]:
    """Header lists: none, several, equal keys, keys that are no UTF-8."""
    header = st.builds(
        Header,
        st.sampled_from([b"", b"a", "\u00e4".encode(), b"\xff"]),
        st.none() | st.binary(max_size=5),
    )
    return st.lists(header, max_size=4).map(tuple)


@st.composite
def batches(draw: st.DrawFn) -> tuple[bytes, list[Record]]:
    """A batch with gaps as compaction leaves them, in any codec, and what is in it."""
    base_offset = draw(st.integers(0, 2**40))
    deltas = draw(st.lists(st.integers(0, 20_000), min_size=1, max_size=30, unique=True))
    codec = draw(st.sampled_from(CompressionCodec))
    records = [
        Record(
            base_offset + delta,
            NOW + draw(st.integers(-(2**40), 2**40)),
            draw(payloads()),
            draw(payloads()),
            draw(headers()),
        )
        for delta in sorted(deltas)
    ]
    built = build_batch(
        BatchContents(
            payload=compress(codec, encode_records(records, base_offset, NOW)),
            codec=codec,
            records_count=len(records),
            base_timestamp=NOW,
            max_timestamp=max(record.timestamp for record in records),
        )
    )
    return _compacted(built, base_offset, max(deltas)), records


def _compacted(built: bytes, base_offset: int, last_offset_delta: int) -> bytes:
    """What a broker makes of a batch: an offset, and more offsets than records."""
    covered = built[21:23] + last_offset_delta.to_bytes(4, "big") + built[27:]
    crc = crc32c.crc32c(covered).to_bytes(4, "big")
    return base_offset.to_bytes(8, "big") + built[8:17] + crc + covered
