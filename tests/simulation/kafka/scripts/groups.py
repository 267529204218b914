"""Scripts of groups without members: their offsets, and how they are listed and deleted."""

from __future__ import annotations

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafka_protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_protocol.messages.find_coordinator import GROUP
from kafka_protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.simulation.kafka.peers import Peer, ask_until
from tests.simulation.kafka.scripts.steps import commit, create, fetch_offsets, find_coordinator


def group_offsets(peer: Peer, topic: str) -> None:
    """Commits and fetches of a group without members, of unknown topics, of no group."""
    create(peer, topic, 2)
    find_coordinator(peer, topic, GROUP)
    fetch_offsets(peer, topic, topic)
    commit(peer, topic, topic, {0: 5})
    commit(peer, topic, topic, {0: 7, 1: 3, 9: 1}, metadata="m")
    commit(peer, topic, f"no-{topic}", {0: 1})
    commit(peer, topic, topic, {0: 8}, generation=3)
    fetch_offsets(peer, topic, topic)
    fetch_offsets(peer, topic, None)
    fetch_offsets(peer, f"no-{topic}", None)
    fetch_offsets(peer, f"no-{topic}", f"no-{topic}")


def described_groups(peer: Peer, topic: str) -> None:
    """A group that only committed offsets, and one that is unknown: listed, described, deleted."""
    create(peer, topic)
    find_coordinator(peer, topic, GROUP)
    commit(peer, topic, topic, {0: 5})
    _list(peer, topic)
    _list(peer, topic, states_filter=["Stable"])
    _list(peer, topic, types_filter=["consumer"])
    for group in (topic, f"no-{topic}"):
        for version in (5, 6):
            peer.ask(DescribeGroupsRequest(groups=[group]), DescribeGroupsResponse, version)
        described = ConsumerGroupDescribeRequest(group_ids=[group])
        peer.ask(described, ConsumerGroupDescribeResponse)
    for group in (topic, f"no-{topic}"):
        peer.ask(DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse)
    fetch_offsets(peer, topic, None)
    _list(peer, topic)


def _list(peer: Peer, group: str, **filters: list[str]) -> None:
    """ListGroups; only the group of the script is compared.

    It fails while a broker loads any partition of the offsets' topic.
    """
    response = ask_until(
        peer,
        ListGroupsRequest(**filters),
        ListGroupsResponse,
        lambda r: r.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )
    response.groups = [each for each in response.groups if each.group_id == group]
    peer.notes.answers.pop()
    peer.notes.add("ListGroups", response)
