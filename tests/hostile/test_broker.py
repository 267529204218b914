"""A broker that tries to give orders: commands end, and show nothing that a terminal obeys."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Response
from kafka_spark_source import cli
from kafka_spark_source.cli.parsers.program import program
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.hostile.audit import Deed, watched
from tests.hostile.broker import spoiled
from tests.hostile.test_registry import DRAWS, PHASES
from tests.simulation.kafka.groups import Group


@contextmanager
def captured() -> Iterator[Callable[[], str]]:
    """What the command prints and logs; Hypothesis has no use for a fixture."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", "replace", write_through=True)
    log = logging.StreamHandler(stream)
    logging.getLogger().addHandler(log)
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            yield lambda: stream.buffer.getvalue().decode("utf-8", "replace")
    finally:
        logging.getLogger().removeHandler(log)


pytestmark = [pytest.mark.no_cover, pytest.mark.timeout(3_600)]

# Python's own work when it first imports one of our modules.
BYTECODE: Final = re.compile(r"\.pyc(\.\d+)?$|__pycache__$|^/dev/null$")
SECONDS: Final = "0.2"
TP = TopicPartition("orders", 0)
COMMANDS: Final = (
    ("topics", "list"),
    ("topics", "list", "--names", "--internal"),
    ("topics", "describe", "orders"),
    ("offsets", "orders", "--at", "-1h"),
    ("peek", "orders", "-n", "3"),
    ("peek", "orders", "--from", "earliest", "-o", "json"),
    ("peek", "orders", "-f", "%t %k %v %h\\n"),
    ("groups", "list"),
    ("groups", "describe", "readers"),
    ("txn", "list"),
)


class Broker:
    """A fake broker whose responses are spoiled. Each draw has a seed and a rate."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.random = Random(0)
        self.rate = 0.0
        self.advertised: set[tuple[str, int]] = set()
        for node in cluster.nodes.values():
            handlers = node.broker.handlers
            for kind, handler in handlers.items():
                if kind is not ApiVersionsRequest:
                    handlers[kind] = partial(self._respond, handler)

    def _respond(self, handler: Handler, request: Any, version: int) -> Any:
        response = handler(request, version)
        if not isinstance(response, Response):
            return response
        other = spoiled(response, version, self.random, self.rate)
        self._note_addresses(other)
        return other

    def _note_addresses(self, message: Any) -> None:
        """A client of Kafka connects wherever brokers say that brokers are."""
        for field in type(message).__fields__:
            value = getattr(message, field.name)
            for each in value if isinstance(value, list) else [value]:
                if hasattr(type(each), "__fields__"):
                    self._note_addresses(each)
        if hasattr(message, "host"):
            self.advertised.add((message.host, message.port))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Back-offs pass at once, and the parser is made once: it takes longer than most commands."""
    with FakeCluster() as cluster, pytest.MonkeyPatch.context() as patch, sleeps_take_no_time():
        patch.setattr("kafka_spark_source.cli.command.program", cache(program))
        cluster.add_topic("orders", partitions=2)
        cluster.append(TP, b"value", b"\x1b[2J", b"$(touch canary)")
        cluster.commit("readers", {TP: 1})
        cluster.describe_group("members", Group(members={"a client": [TP]}))
        yield Broker(cluster)


@settings(max_examples=DRAWS, phases=PHASES)
@given(st.sampled_from(COMMANDS), st.integers(0, 2**32), st.sampled_from([0.0, 0.02, 0.1, 0.5]))
def test_a_hostile_broker_gives_no_orders(
    broker: Broker, command: tuple[str, ...], seed: int, rate: float
) -> None:
    broker.random, broker.rate = Random(seed), rate
    broker.advertised = {(a.host, a.port) for a in broker.cluster.bootstrap_servers}
    servers = ",".join(map(str, broker.cluster.bootstrap_servers))
    with captured() as output, watched() as deeds:
        code = cli.main([*command, "-b", servers, "--timeout", SECONDS])
    text = output()
    assert code in (0, 1, 5), text
    # With a format of the user's, bytes are written as they are, as kcat does.
    assert "-f" in command or all(line.isprintable() for line in text.split("\n")), text
    assert "Traceback" not in text
    judge(deeds, broker)
    assert not Path("canary").exists()


def judge(deeds: list[Deed], broker: Broker) -> None:
    hosts = {host for host, _ in broker.advertised}
    ports = {port for _, port in broker.advertised}
    for event, arguments in deeds:
        match event:
            case "socket.connect":
                assert arguments[1][1] in ports, arguments
            case "socket.getaddrinfo":
                assert arguments[0] in hosts, arguments
            case "open" | "os.rename" | "os.mkdir":
                assert BYTECODE.search(str(arguments[0])), (event, arguments)
            case _:
                raise AssertionError(event, arguments)
