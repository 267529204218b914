"""What is gone for good under a batch read: an error that says what, or a warning and the rest.

Which of the two is what failOnDataLoss says. No record ever comes twice, and none of another topic
that has the name now. The numbers are those of the list of faults.
"""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.errors import DataLossError
from kafka_protocol.messages.metadata import MetadataRequest
from tests.fakes import faults
from tests.fakes.batch_reading import (
    ABC,
    IN_THREE,
    IN_TWELVE,
    TWELVE,
    filled,
    plan,
    planned,
    read,
)
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.reading import PARTITION

FIXED = '{"t":{"0":0}}'

# --- Logs that were cut back ---------------------------------------------------------------------


def elect_uncleanly(cluster: ScriptedCluster) -> None:
    """A replica that has only the first record takes over, and gets others."""
    cluster.log(PARTITION).truncate(1)
    cluster.move_leader(PARTITION, 2)
    for number in range(1, len(TWELVE)):
        cluster.append(PARTITION, b"other %d" % number)


def test_fault_20_an_unclean_election_is_told() -> None:
    with planned(*IN_TWELVE) as (cluster, task):
        batches = task.batches()
        found = next(batches) + next(batches)
        elect_uncleanly(cluster)
        with pytest.raises(
            DataLossError, match=r"COULD_NOT_READ_OFFSET_RANGE.*t-0 was truncated to offset 1 "
        ) as caught:
            for rows in batches:
                found += rows
        # One answer was on its way.
        assert found in (TWELVE[:2], TWELVE[:3])
        assert f"stands at offset {len(found)} of" in str(caught.value)


def test_fault_20_or_read_past_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """What was read stays, and what stands at its offsets now is not read as well."""
    with planned(*IN_TWELVE, failOnDataLoss=False) as (cluster, task):
        batches = task.batches()
        found = next(batches) + next(batches)
        elect_uncleanly(cluster)
        with caplog.at_level(logging.WARNING):
            for rows in batches:
                found += rows
        assert [offset for offset, _ in found] == [*range(12)]
        others = sum(value == b"other %d" % offset for offset, value in found)
        assert others in (9, 10)
        assert "truncated to offset 1" in caplog.text


def test_fault_20_an_unclean_election_between_planning_and_reading() -> None:
    """Nothing was read yet, so nothing contradicts: the log is read as it is now."""
    with planned(*IN_THREE) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        cluster.move_leader(PARTITION, 2)
        cluster.append(PARTITION, b"x")
        assert task.rows() == [(0, b"a"), (1, b"x")]


# --- Offsets behind the end ----------------------------------------------------------------------


@pytest.mark.parametrize(("start", "until"), [(1, 7), (5, 7), (3, 4)])
def test_fault_28_offsets_that_are_not_written_yet(
    start: int, until: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The log was made anew and is smaller, say: found out by the driver."""
    ends = {
        "startingOffsets": f'{{"t":{{"0":{start}}}}}',
        "endingOffsets": f'{{"t":{{"0":{until}}}}}',
    }
    with filled(*IN_THREE) as cluster:
        with pytest.raises(
            DataLossError, match=rf"\[{start}, {until}\) for topic partition t-0: .*\[0, 3\)"
        ):
            plan(cluster.bootstrap_servers, **ends)
        with caplog.at_level(logging.WARNING):
            assert read(cluster.bootstrap_servers, **ends, failOnDataLoss=False) == ABC[start:]
        assert "the log holds [0, 3)" in caplog.text


SHORTER = {"startingOffsets": '{"t":{"0":2}}', "endingOffsets": '{"t":{"0":3}}'}


def test_fault_28_a_task_whose_offsets_are_gone_from_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with planned(*IN_THREE, **SHORTER) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        with pytest.raises(DataLossError, match=r"COULD_NOT_READ.*\[2, 3\).*t-0: .*\[0, 1\)"):
            task.rows()
    with planned(*IN_THREE, **SHORTER, failOnDataLoss=False) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        with caplog.at_level(logging.WARNING):
            assert task.rows() == []
        assert "the log holds [0, 1)" in caplog.text


def test_fault_28_a_log_that_ends_before_the_range_does(caplog: pytest.LogCaptureFixture) -> None:
    """The read comes to its end, and the offset there is in the log just not any more."""
    options = {
        "startingOffsets": FIXED,
        "endingOffsets": '{"t":{"0":3}}',
        "kafkaConsumer.pollTimeoutMs": 300,
    }
    with planned(*IN_THREE, **options) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        with pytest.raises(DataLossError, match=r"COULD_NOT_READ.*\[1, 3\).*t-0: .*\[0, 1\)"):
            task.rows()
    with planned(*IN_THREE, **options, failOnDataLoss=False) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        with caplog.at_level(logging.WARNING):
            assert task.rows() == ABC[:1]
        assert "the log holds [0, 1)" in caplog.text


# --- Topics that are gone ------------------------------------------------------------------------

STARTS = pytest.mark.parametrize("starting", ["earliest", FIXED])
GONE_SOON = {"kafka_topic_metadata_propagation_max_ms": 100, "kafka_default_api_timeout_ms": 300}


@STARTS
def test_fault_23_a_topic_that_is_deleted_before_a_task_reads_it(
    starting: str, caplog: pytest.LogCaptureFixture
) -> None:
    for fail_on_data_loss in (True, False):
        options = {"startingOffsets": starting, "failOnDataLoss": fail_on_data_loss}
        with planned(*IN_THREE, **GONE_SOON, **options) as (cluster, task):
            del cluster.topics["t"]
            if fail_on_data_loss:
                with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0 .*offset 0"):
                    task.rows()
            else:
                with caplog.at_level(logging.WARNING):
                    assert task.rows() == []
                assert "t-0 is unknown to the brokers" in caplog.text


def test_fault_23_a_deadline_in_the_middle_of_a_question_hides_nothing() -> None:
    """That brokers do not know the topic was said before, and is what counts."""
    with planned(*IN_THREE, kafka_default_api_timeout_ms=250) as (cluster, task):
        del cluster.topics["t"]
        cluster.spoil(MetadataRequest, faults.delayed(100))
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0 .*offset 0"):
            task.rows()


def test_fault_23_a_topic_that_is_deleted_under_a_task(caplog: pytest.LogCaptureFixture) -> None:
    for fail_on_data_loss in (True, False):
        with planned(*IN_TWELVE, **GONE_SOON, failOnDataLoss=fail_on_data_loss) as (cluster, task):
            batches = task.batches()
            found = next(batches)
            del cluster.topics["t"]
            with caplog.at_level(logging.WARNING):
                if fail_on_data_loss:
                    with pytest.raises(DataLossError, match="PARTITIONS_DELETED"):
                        for rows in batches:
                            found += rows
                else:
                    for rows in batches:
                        found += rows
                    assert f"was read up to offset {len(found)}" in caplog.text
            # What was on its way came, too.
            assert found in (TWELVE[:1], TWELVE[:2])


@STARTS
@pytest.mark.parametrize("anew", [0, 1, 3, 5])
def test_fault_24_a_topic_that_is_created_anew_before_a_task_reads_it(
    starting: str, anew: int, caplog: pytest.LogCaptureFixture
) -> None:
    """None of its records, however many it has; not even that there are none."""
    for fail_on_data_loss in (True, False):
        options = {"startingOffsets": starting, "failOnDataLoss": fail_on_data_loss}
        with planned(*IN_THREE, **options) as (cluster, task):
            cluster.add_topic("t")
            for _ in range(anew):
                cluster.append(PARTITION, b"other")
            if fail_on_data_loss:
                with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0.*re-created"):
                    task.rows()
            else:
                with caplog.at_level(logging.WARNING):
                    assert task.rows() == []
                assert "re-created" in caplog.text
