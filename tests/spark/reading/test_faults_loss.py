"""Losses during a batch read: an error, or with failOnDataLoss=false a warning and the rest.

No record is read twice, and none of a re-created topic. docs/faults.md lists the numbers.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kafka_protocol.errors import DataLossError
from kafka_protocol.messages.metadata import MetadataRequest
from tests.fakes.batch_reading import ABC, IN_THREE, IN_TWELVE, TWELVE, filled, plan, planned, read
from tests.fakes.broker import Handler
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.reading import PARTITION
from tests.fakes.skipping_time import sleeps_take_no_time

pytestmark = pytest.mark.usefixtures("alone_and_in_a_group")

FIXED = '{"t":{"0":0}}'

# --- Truncated logs ------------------------------------------------------------------------------


def elect_uncleanly(cluster: ScriptedCluster) -> None:
    """A replica with only the first record becomes leader, and gets other records."""
    cluster.log(PARTITION).truncate(1)
    cluster.move_leader(PARTITION, 2)
    for number in range(1, len(TWELVE)):
        cluster.append(PARTITION, b"other %d" % number)


def test_fault_20_an_unclean_election_is_an_error() -> None:
    with planned(*IN_TWELVE) as (cluster, task):
        batches = task.batches()
        found = next(batches) + next(batches)
        elect_uncleanly(cluster)
        with pytest.raises(
            DataLossError, match=r"COULD_NOT_READ_OFFSET_RANGE.*t-0 was truncated to offset 1 "
        ) as caught:
            for rows in batches:
                found += rows
        # One response was in flight.
        assert found in (TWELVE[:2], TWELVE[:3])
        assert f"stands at offset {len(found)} of" in str(caught.value)


def test_fault_20_an_unclean_election_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The new records at offsets that were already read are not read."""
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


def test_fault_20_an_unclean_election_before_a_task() -> None:
    """Nothing was read yet, so the log is read as it is now."""
    with planned(*IN_THREE) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        cluster.move_leader(PARTITION, 2)
        cluster.append(PARTITION, b"x")
        assert task.rows() == [(0, b"a"), (1, b"x")]


# --- Offsets after the end -----------------------------------------------------------------------


@pytest.mark.parametrize(("start", "until"), [(1, 7), (5, 7), (3, 4)])
def test_fault_28_offsets_after_the_end_of_the_log(
    start: int, until: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver finds them, for example in a re-created topic."""
    ends: dict[str, Any] = {
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


@pytest.mark.parametrize(
    ("start", "lost_from", "left"), [(2, 2, []), (0, 1, ABC[:1])], ids=["all lost", "a part lost"]
)
def test_fault_28_the_log_is_truncated_before_a_task(
    start: int, lost_from: int, left: Any, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {
        "startingOffsets": f'{{"t":{{"0":{start}}}}}',
        "endingOffsets": '{"t":{"0":3}}',
        # A read that reaches the new end of the log waits there.
        "kafkaConsumer.pollTimeoutMs": 300 if left else 5_000,
    }
    with planned(*IN_THREE, **options) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        lost = rf"COULD_NOT_READ.*\[{lost_from}, 3\).*t-0: .*\[0, 1\)"
        with pytest.raises(DataLossError, match=lost):
            task.rows()
    with planned(*IN_THREE, **options, failOnDataLoss=False) as (cluster, task):
        cluster.log(PARTITION).truncate(1)
        with caplog.at_level(logging.WARNING):
            assert task.rows() == left
        assert "the log holds [0, 1)" in caplog.text


# --- Topics that are gone ------------------------------------------------------------------------

STARTS = pytest.mark.parametrize("starting", ["earliest", FIXED])
GONE_SOON = {"kafka_topic_metadata_propagation_max_ms": 100, "kafka_default_api_timeout_ms": 300}


@STARTS
def test_fault_23_a_topic_is_deleted_before_a_task(
    starting: str, caplog: pytest.LogCaptureFixture
) -> None:
    for fail_on_data_loss in (True, False):
        options: dict[str, Any] = {"startingOffsets": starting, "failOnDataLoss": fail_on_data_loss}
        with planned(*IN_THREE, **GONE_SOON, **options) as (cluster, task):
            del cluster.topics["t"]
            if fail_on_data_loss:
                with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0 .*offset 0"):
                    task.rows()
            else:
                with caplog.at_level(logging.WARNING):
                    assert task.rows() == []
                assert "t-0 is unknown to every broker" in caplog.text


def test_fault_23_a_deadline_during_metadata_keeps_the_cause() -> None:
    """The brokers did not know the topic before; that remains the error."""
    with (
        sleeps_take_no_time() as let_pass,
        planned(*IN_THREE, kafka_default_api_timeout_ms=60_000) as (cluster, task),
    ):

        def slow(handler: Handler) -> Handler:
            def handle(request: Any, version: int) -> Any:
                let_pass(25)
                return handler(request, version)

            return handle

        del cluster.topics["t"]
        cluster.spoil(MetadataRequest, slow)
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0 .*offset 0"):
            task.rows()


def test_fault_23_a_topic_is_deleted_during_a_task(caplog: pytest.LogCaptureFixture) -> None:
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
            # One response was in flight.
            assert found in (TWELVE[:1], TWELVE[:2])


@STARTS
@pytest.mark.parametrize("anew", [0, 1, 3, 5])
def test_fault_24_a_topic_is_re_created_before_a_task(
    starting: str, anew: int, caplog: pytest.LogCaptureFixture
) -> None:
    """None of its records is read, and an empty topic is a loss too."""
    for fail_on_data_loss in (True, False):
        options: dict[str, Any] = {"startingOffsets": starting, "failOnDataLoss": fail_on_data_loss}
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
