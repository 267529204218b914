"""Rows that wait in temporary files, and their keys in buckets."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_formats.errors import SpillError
from kafka_formats.upsert.newest import GROUP, KEY
from kafka_formats.upsert.spill import Spill
from kafka_protocol.columnar.writing.key_hashes import hash_keys
from kafka_protocol.options.partitioners import KeyHash

SCHEMA = pa.schema([GROUP, KEY, pa.field("value", pa.binary())])


def rows(keys: list[bytes | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([0] * len(keys), pa.int32()),
            pa.array(keys, pa.binary()),
            pa.array([b"v"] * len(keys), pa.binary()),
        ],
        schema=SCHEMA,
    )


@pytest.fixture
def spill() -> Iterator[Spill]:
    with closing(Spill(SCHEMA, [GROUP, KEY], None, 6)) as opened:
        yield opened


def test_rows_come_back_and_each_key_is_in_one_bucket(spill: Spill) -> None:
    keys = [None, b"", *(b"key-%d" % (number % 300) for number in range(1_000))]
    written = [rows(keys[:400]), rows(keys[400:400]), rows(keys[400:])]
    spill.add(written[:2])
    spill.add(written[2:])
    assert spill.num_rows == len(keys)
    seen: dict[int, bytes | None] = {}
    buckets = 0
    for table, numbers in spill.buckets():
        found = table.column("key").to_pylist()
        assert set(found).isdisjoint(seen.values())
        seen |= dict(zip(numbers.tolist(), found, strict=True))
        buckets += bool(found)
    assert [seen[row] for row in range(len(keys))] == keys
    assert buckets > 50
    assert [*spill.batches()] == written


def test_keys_of_one_partition_are_spread(spill: Spill) -> None:
    """They have a remainder of their hash in common, by any number of partitions."""
    keys = pa.array([b"%d" % number for number in range(100_000)], pa.binary())
    in_partition = hash_keys(keys, KeyHash.MURMUR2) % 64 == 7
    spill.add([rows(keys.filter(pa.array(in_partition)).to_pylist())])
    sizes = [table.num_rows for table, _ in spill.buckets()]
    assert min(sizes) > 0
    assert max(sizes) < 3 * np.mean(sizes)


class FullDisk(io.BytesIO):
    def write(self, _data: Any) -> int:
        raise OSError(28, "No space left on device")


def test_fault_66_a_full_disk_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: FullDisk())
    with pytest.raises(SpillError) as caught:
        Spill(SCHEMA, [GROUP, KEY], None, 6).add([rows([b"a"])])
    message = str(caught.value)
    assert message.startswith("Rows that do not fit in memory cannot be kept in a temporary file")
    assert "in the system's folder: " in message
    assert "No space left on device. Make room there, or set spark.local.dir" in message
