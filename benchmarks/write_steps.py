"""What a write's task does above a Python sink that drops its rows, step by step, on one core.

    python -m benchmarks.write_steps

Rows have keys, as those of `make bench-write`, and go to four partitions in turn. They come in
batches of Spark's size. The figures are nanoseconds of CPU a row; `memcpy` copies the values once.
Knows no Spark and no broker.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final

import crc32c
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from kafka_protocol.columnar.writing.columns import RecordColumns
from kafka_protocol.columnar.writing.encode import Gathered, SizeLimits, encode_gathered
from kafka_protocol.records.batch import MAGIC, BatchContents
from kafka_protocol.records.compression import Buffer, Compression, CompressionCodec, compress

ROUNDS: Final = 15
MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 10_000_000
LIMITS: Final = SizeLimits(1_000_000, 1_000_000)
PARTITIONS: Final = 4
SIZES: Final = (100, 1_000, 10_000)
CODECS: Final = (CompressionCodec.LZ4, CompressionCodec.ZSTD)


def main() -> None:
    table = Table("values", "codec", "memcpy", "records", "compressed", "checksum")
    for size in SIZES:
        for codec in CODECS:
            table.add_row(f"{size:,} B", codec.name.lower(), *_steps(size, codec))
    Console().print(table)


def _steps(size: int, codec: CompressionCodec) -> Iterator[str]:
    """The time of each step."""
    count = min(MOST_ROWS, MOST_BYTES // size)
    records = _records(size, count)
    payloads = [*_payloads(records)]
    packed = [bytes(compress(codec, payload)) for payload in payloads]
    data = records.value.buffers()[2]
    steps: list[Callable[[], object]] = [
        data.to_pybytes,
        lambda: [*_payloads(records)],
        lambda: [compress(codec, payload) for payload in payloads],
        lambda: [crc32c.crc32c(each) for each in packed],
    ]
    for step in steps:
        yield f"{_nanoseconds(step) / count:.0f}"


def _payloads(records: RecordColumns) -> Iterator[Buffer]:
    """The records of each batch."""
    count = len(records.value)
    rows = np.argsort(np.arange(count) % PARTITIONS, kind="stable")
    starts = np.linspace(0, count, PARTITIONS + 1, dtype=np.int64).tolist()
    gathered = Gathered(records, rows, starts)
    magics, plain = [MAGIC] * PARTITIONS, Compression(CompressionCodec.NONE, None)
    for _, batch in encode_gathered(gathered, magics, plain, LIMITS):
        assert isinstance(batch.contents, BatchContents)
        yield batch.contents.payload


def _records(size: int, count: int) -> RecordColumns:
    """Half of each value is random."""
    chance = random.Random(1)
    values = [chance.randbytes(size // 2) + b"x" * (size // 2) for _ in range(count)]
    keys = [b"key %d" % (number % 1_000) for number in range(count)]
    times = np.full(count, 1_760_000_000_000, dtype=np.int64)
    return RecordColumns(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), times)


def _nanoseconds(step: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time_ns()
        step()
        times.append(time.process_time_ns() - begin)
    return statistics.median(times)


if __name__ == "__main__":
    main()
