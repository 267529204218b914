"""Losses that only a whole batch read shows: in its plan, and between two batches of a task.

`test_range_reader` has the others. docs/faults.md lists the numbers.
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


def elect_uncleanly(cluster: ScriptedCluster) -> None:
    """A replica with only the first record becomes leader, and gets other records."""
    cluster.log(PARTITION).truncate(1)
    cluster.move_leader(PARTITION, 2)
    for number in range(1, len(TWELVE)):
        cluster.append(PARTITION, b"other %d" % number)


@pytest.mark.parametrize("fail_on_data_loss", [True, False], ids=["fail", "go on"])
def test_fault_20_an_unclean_election_under_a_task(
    fail_on_data_loss: bool, beside: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The new records at offsets that were already read are not read."""
    options: dict[str, Any] = {"failOnDataLoss": fail_on_data_loss}
    with planned(*IN_TWELVE, beside=beside, **options) as (cluster, task):
        batches = task.batches()
        found = next(batches) + next(batches)
        elect_uncleanly(cluster)
        if fail_on_data_loss:
            with pytest.raises(
                DataLossError, match=r"COULD_NOT_READ_OFFSET_RANGE.*t-0 was truncated to offset 1 "
            ) as caught:
                for rows in batches:
                    found += rows
            # One response was in flight.
            assert found in (TWELVE[:2], TWELVE[:3])
            assert f"stands at offset {len(found)} of" in str(caught.value)
            return
        with caplog.at_level(logging.WARNING):
            for rows in batches:
                found += rows
        assert [offset for offset, _ in found] == [*range(12)]
        others = sum(value == b"other %d" % offset for offset, value in found)
        assert others in (9, 10)
        assert "truncated to offset 1" in caplog.text


def test_fault_28_the_driver_finds_offsets_after_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """For example in a re-created topic."""
    ends: dict[str, Any] = {"startingOffsets": '{"t":{"0":1}}', "endingOffsets": '{"t":{"0":7}}'}
    with filled(*IN_THREE) as cluster:
        with pytest.raises(DataLossError, match=r"\[1, 7\) for topic partition t-0: .*\[0, 3\)"):
            plan(cluster.bootstrap_servers, **ends)
        with caplog.at_level(logging.WARNING):
            assert read(cluster.bootstrap_servers, **ends, failOnDataLoss=False) == ABC[1:]
        assert "the log holds [0, 3)" in caplog.text


def test_fault_23_a_deadline_during_metadata_keeps_the_cause(beside: bool) -> None:
    """The brokers did not know the topic before; that remains the error."""
    with (
        sleeps_take_no_time() as let_pass,
        planned(*IN_THREE, beside=beside, kafka_default_api_timeout_ms=60_000) as (cluster, task),
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
