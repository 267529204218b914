"""Records -> the newest record of each key, against a plain dict."""

from __future__ import annotations

import gc
import pickle
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import NullKeyError, SpillError
from kafka_formats.options.envelope import Envelope, EnvelopeOptions, NullKeys, Tombstones
from kafka_formats.upsert import newest as newest_rows
from kafka_formats.upsert.newest import MemoryLimits
from kafka_formats.upsert.upsert import Upsert
from tests.formats.upsert.records import NAMES, Record, batch_of, batches_of, headers_of, newest

TINY: Final = MemoryLimits(buffer=200, piece=50, bucket_bits=2)
KEEP: Final = EnvelopeOptions(Envelope.UPSERT, Tombstones.KEEP, NullKeys.KEEP)
DROP: Final = EnvelopeOptions(Envelope.UPSERT)

KEYS = st.one_of(
    st.none(),
    st.sampled_from([b"", b"\x00", b"a", b"a\x00", b"ab", b"abc" * 50, b"abc" * 50 + b"d"]),
    st.integers(0, 30).map(lambda number: b"key-%d" % number),
    st.binary(max_size=3),
)
VALUES = st.one_of(st.none(), st.just(b""), st.binary(max_size=40))
RECORDS = st.lists(st.tuples(KEYS, VALUES, st.integers(0, 1), st.integers(1, 5)), max_size=120)


def in_partitions(rows: Sequence[tuple[bytes | None, bytes | None, int, int]]) -> list[Record]:
    """Records in the order in which a task reads: partition by partition, with gaps of offsets."""
    records: list[Record] = []
    for topic, partition in (("t", 0), ("t", 1), ("u", 1)):
        offset = 0
        for key, value, of, gap in rows:
            if of == partition:
                offset += gap
                records.append(Record(key, value, topic, partition, offset))
    return records


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def expected(records: Sequence[Record], columns: Sequence[str]) -> list[dict[str, Any]]:
    made = []
    for record in records:
        row = record._asdict() | {"op": "d" if record.value is None else "u"}
        row["headers"] = headers_of(record)
        made.append({name: row[name] for name in columns})
    return made


@given(
    RECORDS,
    st.lists(st.integers(0, 30)),
    st.sampled_from(
        [TINY, MemoryLimits(1, 1, 0), MemoryLimits(buffer=3_000, piece=500), MemoryLimits()]
    ),
    st.sampled_from([Tombstones.DROP, Tombstones.KEEP]),
    st.lists(st.sampled_from([*NAMES, "op"]), min_size=1, unique=True),
)
def test_the_newest_of_each_key_as_in_a_dict(
    rows: list[tuple[bytes | None, bytes | None, int, int]],
    sizes: list[int],
    limits: MemoryLimits,
    tombstones: Tombstones,
    columns: list[str],
) -> None:
    records = in_partitions(rows)
    options = EnvelopeOptions(Envelope.UPSERT, tombstones, NullKeys.KEEP)
    upsert = Upsert(tuple(columns), options, limits=limits)
    fetched = (batch.select(upsert.source_columns) for batch in batches_of(records, sizes))
    wanted = [
        record
        for record in newest(records)
        if tombstones is Tombstones.KEEP or record.value is not None
    ]
    assert rows_of(upsert.rows(fetched)) == expected(wanted, columns)


def test_what_is_read_for_a_projection() -> None:
    assert Upsert(("offset", "op"), DROP).source_columns == (
        *("offset", "key", "value", "topic", "partition"),
    )


def test_columns_and_types_are_as_wanted() -> None:
    upsert = Upsert(("op", "value", "partition"), DROP)
    (batch,) = upsert.rows([batch_of([Record(b"k", b"v")]).select(upsert.source_columns)])
    assert batch.schema.names == ["op", "value", "partition"]
    assert batch.schema.types == [pa.string(), pa.binary(), pa.int32()]


def test_nothing_and_tombstones_only_give_no_batch() -> None:
    upsert = Upsert(NAMES, DROP)
    assert [*upsert.rows([])] == []
    assert [*upsert.rows([batch_of([])])] == []
    assert [*upsert.rows([batch_of([Record(b"k", b"v"), Record(b"k", None)])])] == []


@pytest.mark.parametrize("before", [0, 3])
def test_a_null_key_is_refused_with_its_place(before: int) -> None:
    records = [Record(b"k", b"v", "orders", 7, 40 + row) for row in range(before)]
    records += [Record(None, b"v", "orders", 7, 99), Record(None, b"v", "orders", 7, 100)]
    with pytest.raises(NullKeyError) as caught:
        [*Upsert(NAMES, DROP).rows([batch_of(records)])]
    assert str(caught.value) == (
        "[KAFKA_UPSERT_NULL_KEY] orders-7 at offset 99: the record has no key, and the read has "
        "one row for each key. Set the option upsert.nullKeys to keep to read null as a key like "
        "others, or read the topic without envelope=upsert."
    )


@pytest.mark.many_inputs
def test_many_batches_become_few() -> None:
    records = [Record(b"%d" % (row % 500), b"v" * 50, offset=row) for row in range(5_000)]
    upsert = Upsert(NAMES, KEEP, limits=MemoryLimits(buffer=100_000, piece=10_000))
    batches = [*upsert.rows(batches_of(records, [10] * 500))]
    assert sum(batch.num_rows for batch in batches) == 500
    assert all(batch.nbytes >= 10_000 for batch in batches[:-1])
    assert 2 <= len(batches) < 20


def test_the_keys_of_one_buffer_or_bucket_are_grouped_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grouped = []

    def last_rows(keys: pa.Table, rows: Any) -> Any:
        grouped.append(keys.num_rows)
        return real(keys, rows)

    real = newest_rows._last_rows
    monkeypatch.setattr(newest_rows, "_last_rows", last_rows)
    records = [Record(b"%d" % row, b"v", offset=row) for row in range(1_000)]
    rows = Upsert(NAMES, KEEP, limits=TINY).rows(batches_of(records, [10] * 100))
    assert len(rows_of(rows)) == 1_000
    assert max(grouped) < 500


def test_files_are_gone_when_a_reader_stops_early(tmp_path: Path) -> None:
    records = [Record(b"%d" % row, b"v" * 50, offset=row) for row in range(100)]
    opened = open_files(tmp_path)
    rows = Upsert(NAMES, KEEP, lambda: str(tmp_path), TINY).rows(batches_of(records, [10] * 10))
    assert next(iter(rows)).num_rows
    assert [*tmp_path.iterdir()] == []
    assert len(open_files(tmp_path)) == len(opened) + 2
    del rows
    gc.collect()
    assert open_files(tmp_path) == opened


def open_files(folder: Path) -> list[str]:
    """The open files in a folder, of those without a name, too."""
    links = (each for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return [name for link in links if (name := str(link.readlink())).startswith(str(folder))]


def test_fault_66_files_are_gone_after_an_error(tmp_path: Path) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from batches_of([Record(b"%d" % row, b"v" * 50) for row in range(100)], [50])
        raise ConnectionError

    with pytest.raises(ConnectionError):
        [*Upsert(NAMES, KEEP, lambda: str(tmp_path), TINY).rows(broken())]
    gc.collect()
    assert open_files(tmp_path) == []


def test_fault_66_a_folder_that_is_not_there(tmp_path: Path) -> None:
    upsert = Upsert(NAMES, KEEP, lambda: str(tmp_path / "none"), TINY)
    with pytest.raises(SpillError, match=r"in .*none: .*No such file.* set spark\.local\.dir"):
        [*upsert.rows(batches_of([Record(b"%d" % row, b"v" * 50) for row in range(100)], [50]))]


def test_it_is_pickled_with_tasks() -> None:
    upsert = Upsert(NAMES, KEEP, tempfile.gettempdir)
    assert pickle.loads(pickle.dumps(upsert)) == upsert
