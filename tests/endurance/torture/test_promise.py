from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture.promise import (
    COMMITTED,
    UNCOMMITTED,
    candidates,
    promised,
    violation,
)
from tests.endurance.torture.rows import PartitionTruth, Row, TopicTruth, Truth
from tests.endurance.torture.topics import TopicPlan
from tests.truth.delivery import Difference


def row(offset: int, key: bytes, value: bytes | None, topic: str = "c") -> Row:
    return Row(topic, 0, offset, 1, 0, key, value)


WRITTEN = (
    row(0, b"a", b"1"),
    row(1, b"b", b"1"),
    row(2, b"a", b"2"),
    row(3, b"a", b"aborted"),
    row(5, b"c", b"1"),
    row(6, b"c", None),
    row(7, b"d", b"1"),
)
ABORTED = frozenset({3})


def truth(
    cleanup: str,
    written: Sequence[Row] = WRITTEN,
    aborted: frozenset[int] = ABORTED,
    start: int = 0,
) -> Truth:
    topic = written[0].topic
    uncommitted = tuple(each for each in written if each.offset >= start)
    committed = tuple(each for each in uncommitted if each.offset not in aborted)
    end = written[-1].offset + 1
    known = PartitionTruth(start, end, end, committed, uncommitted, tuple(written), aborted)
    return {topic: TopicTruth(topic, TopicPlan(topic, 1, cleanup), {0: known})}


@pytest.mark.parametrize("cleanup", ["delete", "compact", "compact,delete"])
def test_candidates_are_what_a_reader_may_get(cleanup: str) -> None:
    offsets = {
        level: [each.offset for each in candidates(truth(cleanup, start=2), "c", 0, level)]
        for level in (COMMITTED, UNCOMMITTED)
    }
    assert offsets == {COMMITTED: [2, 5, 6, 7], UNCOMMITTED: [2, 3, 5, 6, 7]}


def test_compacted_rows_are_candidates() -> None:
    of_topic = truth("compact")["c"]
    known = of_topic.partitions[0]._replace(committed=(), uncommitted=())
    compacted = {"c": of_topic._replace(partitions={0: known})}
    assert [each.offset for each in candidates(compacted, "c", 0, COMMITTED)] == [0, 1, 2, 5, 6, 7]


def test_the_newest_committed_row_of_each_key_is_promised_unless_a_tombstone() -> None:
    assert promised(truth("compact")["c"].partitions[0]) == [1, 2, 7]


def test_deleted_rows_are_not_promised() -> None:
    assert promised(truth("compact,delete", start=2)["c"].partitions[0]) == [2, 7]


def kept(known: Truth, offsets: Sequence[int]) -> Difference | None:
    wanted = candidates(known, "c", 0, COMMITTED)
    return violation(known, wanted, [each for each in wanted if each.offset in offsets])


@pytest.mark.parametrize(
    "offsets", [[0, 1, 2, 5, 6, 7], [1, 2, 7], [1, 2, 6, 7], [0, 1, 2, 7], [1, 2, 5, 7]]
)
def test_each_replica_may_compact_as_far_as_it_likes(offsets: list[int]) -> None:
    assert kept(truth("compact"), offsets) is None


@pytest.mark.parametrize("gone", [0, 5, 6])
def test_a_plain_topic_has_all_rows(gone: int) -> None:
    offsets = [each for each in (0, 1, 2, 5, 6, 7) if each != gone]
    assert kept(truth("delete"), offsets) == Difference("lost", WRITTEN[_at(gone)])


def _at(offset: int) -> int:
    return [each.offset for each in WRITTEN].index(offset)


def test_rows_of_aborted_transactions_may_be_gone_for_read_uncommitted() -> None:
    known = truth("compact")
    wanted = candidates(known, "c", 0, UNCOMMITTED)
    without = [each for each in wanted if each.offset != 3]
    assert violation(known, wanted, wanted) is None
    assert violation(known, wanted, without) is None


def test_an_aborted_row_is_extra_for_read_committed() -> None:
    known = truth("compact")
    found = violation(known, candidates(known, "c", 0, COMMITTED), WRITTEN)
    assert found == Difference("unknown", None, WRITTEN[3])


def test_a_range_that_ends_before_the_newest_row_promises_nothing_of_its_key() -> None:
    known = truth("compact")
    wanted = [each for each in candidates(known, "c", 0, COMMITTED) if each.offset < 2]
    assert violation(known, wanted, [WRITTEN[1]]) is None
    assert violation(known, wanted, [WRITTEN[0]]) == Difference("behind", WRITTEN[1])


def test_columns_that_were_not_read_are_neutral() -> None:
    known = truth("compact")
    wanted = [each._replace(key=None, value=None) for each in WRITTEN if each.offset != 3]
    assert violation(known, wanted, wanted) is None
    assert violation(known, wanted, wanted[1:]) is None
    difference = violation(known, wanted, wanted[:-1])
    assert difference == Difference("behind", wanted[-1])


def test_topics_of_both_kinds_in_one_query() -> None:
    plain = [row(offset, b"a", b"v", "p") for offset in range(3)]
    known = {**truth("compact"), **truth("delete", plain, frozenset())}
    wanted = [each for topic in "cp" for each in candidates(known, topic, 0, COMMITTED)]
    newest = [WRITTEN[1], WRITTEN[2], WRITTEN[6]]
    assert violation(known, wanted, [*plain, *newest]) is None
    assert violation(known, wanted, [*plain[1:], *newest]) == Difference("lost", plain[0])
    assert violation(known, wanted, [*plain, *newest[1:]]) == Difference("lost", newest[0])


def test_rows_of_an_unknown_partition_are_extra() -> None:
    known = truth("compact")
    stranger = WRITTEN[0]._replace(partition=5)
    assert violation(known, [], [stranger]) == Difference("unknown", None, stranger)


writes = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.sampled_from([b"v", None]), st.booleans()),
    min_size=1,
    max_size=30,
)


@given(writes, st.integers(0, 30))
def test_what_a_cleaner_keeps_is_no_violation(
    written: list[tuple[bytes, bytes | None, bool]], active: int
) -> None:
    """A cleaner as Kafka's: of what is before the active segment, the newest committed of a key."""
    rows = [row(offset, key, value) for offset, (key, value, _) in enumerate(written)]
    aborted = frozenset(offset for offset, (_, _, is_kept) in enumerate(written) if not is_kept)
    known = truth("compact", rows, aborted)
    closed = [each for each in rows[:active] if each.offset not in aborted]
    newest = {each.key: each for each in closed}
    left = [each for each in closed if newest[each.key] is each and each.value is not None]
    read = [*left, *(each for each in rows[active:] if each.offset not in aborted)]
    wanted = candidates(known, "c", 0, COMMITTED)
    assert violation(known, wanted, read) is None
    for offset in promised(known["c"].partitions[0]):
        without = [each for each in read if each.offset != offset]
        missing = violation(known, wanted, without)
        assert missing is not None
        assert (missing.kind in {"lost", "behind"}, missing.expected) == (True, rows[offset])
