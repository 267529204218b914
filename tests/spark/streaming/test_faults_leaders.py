"""Faults of leaders and connections under a stream: each record is read once, and in order.

`tests/protocol/client` has all cases of each fault. Here it meets every request of a trigger. Also
counts the requests of a query. docs/faults.md lists the numbers.
"""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import changes, faults
from tests.fakes.batch_reading import ABC, IN_THREE, IN_TWELVE, TWELVE
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.reading import PARTITION
from tests.fakes.stream_reading import MOMENTS, Moment, Options, streaming, values

pytestmark = pytest.mark.no_cover

# --- Leaders that change -------------------------------------------------------------------------


@pytest.mark.parametrize("change", changes.LEADER_CHANGES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_16_and_19_the_leader_changes_in_each_trigger(
    moment: Moment, change: changes.Change
) -> None:
    """With a limit of bytes, so that all kinds of requests are sent."""
    with streaming(*IN_TWELVE, nodes=3, maxBytesPerTrigger=150) as (cluster, query):
        came_to = set()
        for _ in range(12):
            for reached in query.moments():
                if reached == moment:
                    came_to.add(moment)
                    change(cluster)
        assert came_to == {moment}
        assert query.checkpoint.rows == TWELVE


# --- What passes ---------------------------------------------------------------------------------


RETRIED = faults.errors(
    "FENCED_LEADER_EPOCH UNKNOWN_TOPIC_OR_PARTITION KAFKA_STORAGE_ERROR UNKNOWN_SERVER_ERROR"
)
LOST = changes.spoiled(ListOffsetsRequest, faults.response_lost)
PASSING = {
    f"{kind.api_name} {error.name}": changes.refused(kind, error)
    for kind in (ListOffsetsRequest, FetchRequest)
    for error in RETRIED
} | {
    "ListOffsets lost": LOST,
    "Fetch cut": changes.spoiled(FetchRequest, faults.cut_after(9)),
    "Metadata closed": changes.spoiled(MetadataRequest, faults.closing),
    "Metadata without leaders": changes.spoiled(
        MetadataRequest, faults.changed(changes.leaderless)
    ),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_05_17_18_22_and_40_what_passes_loses_no_record(fault: changes.Change) -> None:
    options: Options = {
        "maxBytesPerTrigger": 10_000,
        "kafka_request_timeout_ms": 200 if fault is LOST else 30_000,
        # Longer than a busy machine stands still.
        "kafka_topic_metadata_propagation_max_ms": 60_000,
    }
    with streaming(*IN_THREE, nodes=2, **options) as (cluster, query):
        fault(cluster)
        assert query.run() == ABC
        cluster.append(PARTITION, b"d")
        fault(cluster)
        assert query.run() == [(3, b"d")]


# --- Requests of a query -------------------------------------------------------------------------


def request_counts(cluster: ScriptedCluster) -> Counter[tuple[int, str]]:
    """The number of requests so far, by node and API."""
    return Counter(
        (number, type(request).api_name)
        for number, node in cluster.nodes.items()
        for request, _ in node.broker.requests
    )


@pytest.mark.usefixtures("partitions_stay_fresh")
@pytest.mark.parametrize(("coalesced", "fetches_of_a_leader"), [(True, 1), (False, 2)])
def test_a_task_on_a_warm_worker_sends_one_fetch(coalesced: bool, fetches_of_a_leader: int) -> None:
    """One to each leader, for all or for each of its partitions."""
    with streaming(nodes=3, coalescePartitions=coalesced) as (cluster, query):
        cluster.add_topic("t", 7)
        partitions = [TopicPartition("t", number) for number in range(7)]
        for round_ in (b"first", b"second", b"third"):
            before = request_counts(cluster)
            for tp in partitions[1:]:
                cluster.append(tp, round_)
            rows = query.trigger()
            assert rows is not None
            assert values(rows) == [round_.decode()] * 6
            if round_ != b"first":
                ends = {(node, "ListOffsets"): 1 for node in (1, 2, 3)}
                fetches = {(node, "Fetch"): fetches_of_a_leader for node in (1, 2, 3)}
                assert request_counts(cluster) - before == ends | fetches
