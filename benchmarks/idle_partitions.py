"""The CPU of an idle query on many partitions, and how late it sees a new record, without Spark.

This process calls the streaming reader as PySpark's runner does, JSON included. Fake brokers,
in a process of their own, remember their responses, so that they respond at once.
`python -m benchmarks.idle_partitions --partitions 10000`
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final

from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.source import KafkaDataSource
from tests.fakes.broker import Peer, ScriptedBroker
from tests.fakes.cluster import FakeCluster

TOPIC: Final = "t"
BROKERS: Final = 3
NEW_RECORDS: Final = 10
_PROCESSES: Final = get_context("spawn")
_COUNTED: Final = {kind.api_key: kind.api_name for kind in (ListOffsetsRequest, MetadataRequest)}


class Recorder:
    """Keeps the responses of a broker, and counts its requests by API."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self._broker = broker
        self._responses: dict[bytes, bytes] = {}
        self.requests: Counter[str] = Counter()

    def answer(self, frame: bytes) -> bytes:
        """The broker's response to a frame, now."""
        answer = _Answer()
        ScriptedBroker._respond(self._broker, memoryview(frame), answer)  # type: ignore[arg-type]
        return answer.data

    def answers(self) -> dict[bytes, bytes]:
        """The broker's responses to all requests before, now."""
        return {each: self.answer(each) for each in [*self._responses]}

    def replace(self, responses: dict[bytes, bytes]) -> None:
        """Send these responses from now on."""
        self._responses = responses

    def respond(self, frame: memoryview, peer: Peer) -> None:
        """Send the response that the broker gave to the same request before."""
        request = bytes(frame[:4]) + bytes(4) + bytes(frame[8:])
        self.requests[_COUNTED.get(int.from_bytes(frame[:2], "big"), "other")] += 1
        if request not in self._responses:
            self._responses[request] = self.answer(request)
        data = self._responses[request]
        peer.write(data[:4] + bytes(frame[4:8]) + data[8:])


class _Answer:
    """Takes the response of a broker."""

    data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def serve(partitions: int, pipe: Connection) -> None:
    """Run brokers; append a record when told to, and report requests when asked."""
    cluster = FakeCluster(BROKERS)
    cluster.add_topic(TOPIC, partitions, replicas=1)
    recorders = [Recorder(node.broker) for node in cluster.nodes.values()]
    for recorder in recorders:
        recorder._broker._respond = recorder.respond  # type: ignore[method-assign]
    with cluster:
        pipe.send([str(each) for each in cluster.bootstrap_servers])
        while command := pipe.recv():
            if command == "append":
                cluster.append(TopicPartition(TOPIC, 0), b"x")
                prepared = [recorder.answers() for recorder in recorders]
                time.sleep(random.random())  # at any moment between two triggers
                pipe.send(time.monotonic())
                for recorder, responses in zip(recorders, prepared, strict=True):
                    recorder.replace(responses)
            else:
                pipe.send(sum((recorder.requests for recorder in recorders), Counter()))


def trigger(reader: Any, start: str) -> str:
    """Ask for an end as Spark does at each trigger."""
    end = json.dumps(reader.latestOffset(json.loads(start), reader.getDefaultReadLimit()))
    json.dumps(reader.reportLatestOffset())
    return end


def idle(reader: Any, start: str, seconds: float) -> tuple[float, int]:
    """The per cent of a core, and the number of triggers."""
    until, used, count = time.perf_counter() + seconds, time.process_time(), 0
    while time.perf_counter() < until:
        assert trigger(reader, start) == start
        count += 1
    return 100 * (time.process_time() - used) / seconds, count


def latency(reader: Any, start: str, pipe: Connection) -> tuple[float, str]:
    """The seconds from a new record, appended to an idle query, to its end; and that end."""
    idle(reader, start, 1.5)
    pipe.send("append")
    while (end := trigger(reader, start)) == start:
        pass
    seconds = time.monotonic() - pipe.recv()
    reader.partitions(json.loads(start), json.loads(end))
    return seconds, end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    pipe, theirs = _PROCESSES.Pipe()
    _PROCESSES.Process(target=serve, args=(options.partitions, theirs), daemon=True).start()
    source = KafkaDataSource({"kafka.bootstrap.servers": ",".join(pipe.recv()), "subscribe": TOPIC})
    reader: Any = source.streamReader(source.schema())
    start = trigger(reader, json.dumps(reader.initialOffset()))
    reader.partitions(json.loads(start), json.loads(start))
    idle(reader, start, 3)  # warm up
    pipe.send("count")
    before = Counter(pipe.recv())
    percent, triggers = idle(reader, start, options.seconds)
    pipe.send("count")
    sent = Counter(pipe.recv()) - before
    latencies = []
    for _ in range(NEW_RECORDS):
        seconds, start = latency(reader, start, pipe)
        latencies.append(1000 * seconds)
    pipe.send(None)
    print(
        f"{options.partitions} partitions: {percent:.1f} % of a core, "
        f"{triggers / options.seconds:.1f} triggers/s, requests/s: "
        + ", ".join(f"{name} {count / options.seconds:.1f}" for name, count in sent.items())
        + f"; a new record is seen after {statistics.median(latencies):.0f} ms (median), "
        f"{max(latencies):.0f} ms (longest of {NEW_RECORDS})"
    )


if __name__ == "__main__":
    main()
