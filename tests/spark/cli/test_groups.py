"""`pykafka groups` on fake brokers, with groups of both protocols."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client.cluster.group_admin import describe_group, list_groups
from kafka_protocol.errors import DecodeError, ErrorCode, OutOfStepError
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_protocol.messages.list_groups import ListGroupsRequest
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request
from kafka_spark_source import cli
from tests.fakes import faults
from tests.fakes.broker import Close, Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.deadlines import PassesWhen
from tests.fakes.transactions import soon
from tests.simulation.kafka.groups import Group
from tests.times import shorten

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
KINDS = ("classic", "consumer")


@pytest.fixture(autouse=True)
def _no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shorten(monkeypatch, topic_grace_ms=10)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Two brokers, five and two records, and the group `readers` at 2 and 1."""
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("orders", partitions=2)
        cluster.append(FIRST, *(b"a%d" % number for number in range(5)))
        cluster.append(SECOND, b"b0", b"b1")
        cluster.commit("readers", {FIRST: 2, SECOND: 1})
        yield cluster


class Groups:
    """Runs `pykafka groups` in this process."""

    def __init__(self, cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
        self._cluster = cluster
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """The output; of a command that fails, its errors."""
        servers = ",".join(map(str, self._cluster.bootstrap_servers))
        self._capsys.readouterr()
        assert cli.main(["groups", *arguments, "-b", servers]) == code
        out, errors = self._capsys.readouterr()
        return errors if code else out

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))


@pytest.fixture
def groups(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Groups:
    return Groups(cluster, capsys)


def in_use(cluster: FakeCluster, kind: str) -> None:
    cluster.describe_group("readers", Group(kind, {"app-1": [FIRST], "app-2": [SECOND]}))


def test_list_asks_every_broker(cluster: FakeCluster, groups: Groups) -> None:
    cluster.describe_group("shared", Group("share", protocol_type="share"))
    cluster.move_coordinator("shared", 2)
    in_use(cluster, "consumer")
    assert groups.json("list") == [
        {
            "group": "readers",
            "type": "consumer",
            "state": "Stable",
            "protocol": "consumer",
            "coordinator": 1,
        },
        {
            "group": "shared",
            "type": "share",
            "state": "Empty",
            "protocol": "share",
            "coordinator": 2,
        },
    ]
    heading, first, _ = groups("list").splitlines()
    assert heading.split() == ["group", "type", "state", "protocol", "coordinator"]
    assert first.split() == ["readers", "consumer", "Stable", "consumer", "1"]


def test_list_shows_what_the_others_tell(cluster: FakeCluster, groups: Groups) -> None:
    cluster.move_coordinator("readers", 2)
    cluster.add_fault(ListGroupsRequest, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, count=1)
    assert [each["group"] for each in groups.json("list")] == ["readers"]
    cluster.add_fault(ListGroupsRequest, error=ErrorCode.GROUP_AUTHORIZATION_FAILED, count=1)
    assert "GROUP_AUTHORIZATION_FAILED" in groups("list", code=1)
    cluster.commit("readers", {})
    assert groups("list") == "there is no group that you may describe\n"
    assert groups.json("list") == []


@pytest.mark.parametrize("kind", KINDS)
def test_describe(cluster: FakeCluster, groups: Groups, kind: str) -> None:
    cluster.commit("readers", {FIRST: 2})
    in_use(cluster, kind)
    found = groups.json("describe", "readers")
    assert (found["type"], found["state"], found["coordinator"]) == (kind, "Stable", 1)
    assert found["assignor"] == {"classic": "range", "consumer": "uniform"}[kind]
    assert [(each["client"], each["partitions"]) for each in found["members"]] == [
        ("app-1", ["orders-0"]),
        ("app-2", ["orders-1"]),
    ]
    rows = [
        (each["partition"], each["committed"], each["latest"], each["records"], each["client"])
        for each in found["partitions"]
    ]
    assert rows == [(0, 2, 5, 3, "app-1"), (1, None, 2, None, "app-2")]
    lines = groups("describe", "readers").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].split() == ["orders", "1", "-", "2", "-", "-", "app-2"]


def test_describe_a_group_without_members(groups: Groups) -> None:
    found = groups.json("describe", "readers")
    assert (found["type"], found["state"], found["members"]) == ("classic", "Empty", [])
    assert [each["records"] for each in found["partitions"]] == [3, 1]
    assert "There is no group 'none'" in groups("describe", "none", code=1)


def test_describe_a_topic_that_is_gone(cluster: FakeCluster, groups: Groups) -> None:
    cluster.commit("readers", {FIRST: 2, SECOND: 1, TopicPartition("gone", 0): 7})
    gone, *others = groups.json("describe", "readers")["partitions"]
    assert (gone["topic"], gone["committed"], gone["latest"], gone["records"]) == (
        *("gone", 7),
        *(None, None),
    )
    assert [each["records"] for each in others] == [3, 1]
    assert "gone-0, which no longer exists" in groups(
        "reset", "readers", "--to", "earliest", code=1
    )
    groups("reset", "readers", "--to", "earliest", "--topic", "orders", "--yes")
    assert cluster.committed["readers"][FIRST] == 0


def test_reset(cluster: FakeCluster, groups: Groups) -> None:
    before = dict(cluster.committed["readers"])
    shown = groups("reset", "readers", "--to", "earliest", "--dry-run")
    assert "3 records at most are read again" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "not confirmed (use --yes)" in groups("reset", "readers", "--to", "earliest", code=1)
    assert cluster.committed["readers"] == before
    found = groups.json("reset", "readers", "--to", "earliest", "--yes")
    assert (found["is_done"], found["read_again"], found["skipped"]) == (True, 3, 0)
    assert [(each["committed"], each["offset"]) for each in found["partitions"]] == [(2, 0), (1, 0)]
    assert cluster.committed["readers"] == {FIRST: 0, SECOND: 0}


def test_reset_forward(cluster: FakeCluster, groups: Groups) -> None:
    error = groups("reset", "readers", "--to", "latest", "--yes", code=1)
    assert "has not come that far in orders-0, orders-1: 4 offsets would never" in error
    shown = groups("reset", "readers", "--to", "latest-1", "--skip", "--yes")
    assert "2 offsets are never read" in shown
    assert cluster.committed["readers"] == {FIRST: 4, SECOND: 1}


def test_reset_named_partitions(cluster: FakeCluster, groups: Groups) -> None:
    groups("reset", "readers", "--to", '{"orders":{"1":0}}', "--yes")
    assert cluster.committed["readers"] == {FIRST: 2, SECOND: 0}
    error = groups("reset", "readers", "--to", '{"orders":{"7":0}}', code=1)
    assert "orders-7 does not exist" in error
    error = groups("reset", "readers", "--to", '{"orders":{"0":9}}', code=1)
    assert "orders-0 has no offset 9: there is no such record yet" in error
    error = groups("reset", "readers", "--to", '{"orders":{"0":0}}', "--topic", "orders", code=1)
    assert "either in the JSON" in error


def test_reset_a_new_group(cluster: FakeCluster, groups: Groups) -> None:
    """With topics it gets offsets, as with Kafka's own tool."""
    assert "no group 'new'" in groups("reset", "new", "--to", "latest", code=1)
    found = groups.json("reset", "new", "--to", "latest", "--topic", "orders", "--yes")
    assert [(each["committed"], each["skipped"]) for each in found["partitions"]] == [(None, 0)] * 2
    assert cluster.committed["new"] == {FIRST: 5, SECOND: 2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", [("reset", "--to", "earliest"), ("delete",)])
def test_a_group_in_use_is_refused(
    cluster: FakeCluster, groups: Groups, kind: str, command: tuple[str, ...]
) -> None:
    in_use(cluster, kind)
    name, *more = command
    error = groups(name, "readers", *more, "--yes", code=1)
    assert "is in use: its state is Stable" in error
    assert "app-1 on /127.0.0.1, app-2 on /127.0.0.1" in error
    assert not cluster.asked(OffsetCommitRequest)
    assert not cluster.asked(DeleteGroupsRequest)


def test_a_group_that_waits_for_members_is_refused(cluster: FakeCluster, groups: Groups) -> None:
    cluster.describe_group("readers", Group(state="PreparingRebalance"))
    error = groups("reset", "readers", "--to", "earliest", "--yes", code=1)
    assert "its state is PreparingRebalance, members: none yet" in error


def before_each(act: Callable[[int], None]) -> Callable[[Handler], Handler]:
    """A fault: acts before the broker handles a request, with its number, from 1 on."""
    numbers = iter(range(1, 1_000))

    def spoiled(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            act(next(numbers))
            return handler(request, version)

        return handle

    return spoiled


def test_members_that_join_while_it_is_reset(cluster: FakeCluster, groups: Groups) -> None:
    cluster.add_fault(
        OffsetCommitRequest, before_each(lambda _: in_use(cluster, "classic")), node=1
    )
    error = groups("reset", "readers", "--to", "earliest", "--yes", code=1)
    assert "has members by now" in error
    assert "UNKNOWN_MEMBER_ID" in error
    assert cluster.committed["readers"] == {FIRST: 2, SECOND: 1}


def test_offsets_that_change_while_it_is_reset(cluster: FakeCluster, groups: Groups) -> None:
    def read_on(number: int) -> None:
        if number == 2:
            cluster.commit("readers", {FIRST: 4, SECOND: 1})

    cluster.add_fault(DescribeGroupsRequest, before_each(read_on), node=1)
    error = groups("reset", "readers", "--to", "earliest", "--yes", code=1)
    assert "has committed other offsets meanwhile" in error
    assert cluster.committed["readers"] == {FIRST: 4, SECOND: 1}


def test_delete(cluster: FakeCluster, groups: Groups) -> None:
    assert "nothing was deleted" in groups("delete", "readers", code=1)
    assert groups("delete", "readers", "--yes") == "deleted the group 'readers'\n"
    assert cluster.committed == {}
    assert "GROUP_ID_NOT_FOUND" in groups("delete", "readers", "--yes", code=1)


@pytest.mark.parametrize(
    ("release", "command", "reason"),
    [
        ("0.8.2", ("list",), "Kafka 0.9 or newer"),
        ("0.8.2", ("reset", "readers", "--to", "earliest"), "Kafka 0.9 or newer"),
        ("0.10.1", ("reset", "readers", "--to", "earliest"), "Kafka 0.10.2 or newer"),
        ("1.0", ("delete", "readers", "--yes"), "Kafka 1.1 or newer"),
    ],
)
def test_old_brokers_say_what_they_cannot(
    capsys: pytest.CaptureFixture[str], release: str, command: tuple[str, ...], reason: str
) -> None:
    def close(_request: object, _version: int) -> None:
        raise Close

    with FakeCluster(release=release) as cluster:
        if release == "0.8.2":
            cluster.add_fault(ApiVersionsRequest, lambda _handler: close)
        fallback = ["-X", f"broker.version.fallback={release}"]
        assert reason in Groups(cluster, capsys)(*command, *fallback, code=1)


def test_brokers_that_do_not_tell_all_offsets(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of partitions that a member reads are asked for by name."""
    with FakeCluster(release="0.10.1") as cluster:
        cluster.add_topic("orders")
        cluster.append(FIRST, b"a", b"b")
        cluster.commit("readers", {FIRST: 1})
        groups = Groups(cluster, capsys)
        assert "Kafka 0.10.2 or newer" in groups("describe", "readers", code=1)
        cluster.describe_group("readers", Group(members={"app": [FIRST]}))
        (found,) = groups.json("describe", "readers")["partitions"]
        assert (found["committed"], found["records"], found["client"]) == (1, 1, "app")


def test_old_brokers_do_what_they_can(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeCluster(release="0.10.2") as cluster:
        cluster.add_topic("orders")
        cluster.append(FIRST, b"a", b"b")
        cluster.commit("readers", {FIRST: 2})
        groups = Groups(cluster, capsys)
        (found,) = groups.json("list")
        assert (found["type"], found["state"], found["protocol"]) == (None, None, None)
        assert "1 records at most" in groups("reset", "readers", "--to", "latest-1", "--yes")
        assert "There is no group 'none'" in groups("describe", "none", code=1)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (ConsumerGroupDescribeRequest, lambda response: response.groups.clear()),
        (DescribeGroupsRequest, lambda response: response.groups.clear()),
    ],
)
def test_fault_39_a_group_that_the_response_lacks(
    cluster: FakeCluster, kind: type[Request], change: Callable[[Any], None]
) -> None:
    cluster.add_fault(kind, faults.changed(change))
    with closing(cluster.client()) as client:
        twice = PassesWhen(lambda: len(cluster.asked(kind)) >= 2)
        with pytest.raises(OutOfStepError, match="lacks the group"):
            describe_group(client, "readers", twice)


def test_an_assignment_that_is_broken(cluster: FakeCluster) -> None:
    def cut(response: Any) -> None:
        response.groups[0].members[0].member_assignment = b"\x00\x01\x7f\xff\xff\xff\x00"

    in_use(cluster, "classic")
    cluster.add_fault(DescribeGroupsRequest, faults.changed(cut))
    with closing(cluster.client()) as client, pytest.raises(DecodeError, match="member 'app-1-1'"):
        describe_group(client, "readers", soon())


def test_a_broker_that_is_down(cluster: FakeCluster) -> None:
    with closing(cluster.client()) as client:
        client.topics(None, soon())
        cluster.stop(2)
        listed = list_groups(client, soon())
    assert [each.group_id for each in listed.groups] == ["readers"]
