"""The stages of a read, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from kafka_formats.query.stage import through


@dataclass
class Doubled:
    """Gives each value twice, and logs the batches that it takes."""

    log: list[int]
    source_columns: tuple[str, ...] = ("n",)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.log.append(batch.num_rows)
            yield pa.record_batch({"n": batch.column("n").to_pylist() * 2})


def test_each_stage_takes_what_the_one_before_it_gives() -> None:
    log: list[int] = []
    batches = [pa.record_batch({"n": [number]}) for number in (1, 2)]
    rows = through((Doubled(log), Doubled(log)), batches)
    assert next(rows).column("n").to_pylist() == [1] * 4
    # The second batch is not read before somebody wants it.
    assert log == [1, 2]
    assert next(rows).column("n").to_pylist() == [2] * 4


def test_without_stages_records_are_rows() -> None:
    batches = [pa.record_batch({"n": [1]})]
    assert [*through((), batches)] == batches
