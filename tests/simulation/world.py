"""One simulated world: brokers, network, executors, drivers and producers of a scenario.

`run` builds one and returns what came of it. Everything random comes from the scenario's seed.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from kafka_protocol.errors import AuthenticationError, BrokerError, DataLossError, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation import committer, registry
from tests.simulation.batch_jobs import options_of
from tests.simulation.clocks import SimulatedSource
from tests.simulation.collecting import states, timestamps
from tests.simulation.disk import Disk
from tests.simulation.faults import KINDS
from tests.simulation.job_runner import JobRunner
from tests.simulation.kafka.cluster import NoLeaderError, SimulatedCluster
from tests.simulation.kafka.services import SERVICES
from tests.simulation.kafka.settings import BrokerSettings
from tests.simulation.losses import Losses
from tests.simulation.network import Network
from tests.simulation.outcome import (
    Begun,
    LogRecord,
    Outcome,
    Refused,
    Sent,
)
from tests.simulation.processes import Process, Processes, ProcessKilledError, Strand
from tests.simulation.producers import SendingProducer, appended
from tests.simulation.registry import WithRegistry
from tests.simulation.scenario import (
    COMMIT_LOG,
    EXECUTORS,
    INPUT,
    LETTERS,
    MOST_ADDED,
    OUTPUT,
    WRITTEN,
    Scenario,
    Send,
)
from tests.simulation.scheduler import EventScheduler
from tests.simulation.spark import DRIVER_HOST, Driver, History, QuerySettings
from tests.simulation.tasks import Cluster, Executors, TaskFailedError
from tests.simulation.trace import Trace
from tests.truth.groups import Commit

# How long after the last fault and record a query may take until everything is processed, or until
# it fails: a task whose records went with a topic waits for them for 120 s, in each of 4 attempts.
LEVEL_BOUND_MS: Final = 600_000.0
_CHECK_MS: Final = 250.0
_SOON_MS: Final = 1_000.0

# When another program commits to the group of the stream, as a part of the time before its start.
_COMMITS_AT: Final = 0.7

_ALSO_OF_OUTPUT: Final = ("min.insync.replicas", "max.message.bytes")

# What may end a query of a real Spark; anything else is a bug.
_EXPECTED: Final = (KafkaError, TaskFailedError)


class World:
    """Everything that exists in a run."""

    def __init__(self, scenario: Scenario) -> None:
        seed = scenario.seed
        self.scenario: Scenario = scenario
        self.scheduler = EventScheduler(seed)
        self.trace = Trace(self.scheduler)
        self.processes = Processes(self.scheduler, self.trace)
        self.cluster: SimulatedCluster = SimulatedCluster(
            self.scheduler, scenario.nodes, scenario.release, settings_of(scenario)
        )
        addresses = {self.cluster.address_of(n): n for n in range(1, scenario.nodes + 1)}
        self.network = Network(
            self.scheduler,
            self.processes,
            self.trace,
            WithRegistry(self.cluster, self._schema_versions),
            {**addresses, registry.ADDRESS: registry.NODE},
            seed,
            SERVICES[scenario.service].distance_ms,
        )
        self.source = SimulatedSource(self.scheduler, self.processes, seed)
        self.disk = Disk(str(uuid.UUID(int=random.Random(f"{seed} query").getrandbits(128))))
        self.executors: Executors = Executors(
            self.scheduler,
            self.processes,
            self.disk,
            random.Random(f"{seed} spark"),
            Cluster(EXECUTORS, scenario.slots, scenario.speculation_ms, scenario.loser_ms),
        )
        self.history: History = History(finishes=self._note_letters)
        self.outcome = Outcome(scenario)
        self.history.begins = self._note_begun
        self.cluster.truth.commits = self._note_commit
        self.driver_strand: Strand | None = None
        self.committed_by_other: dict[TopicPartition, int] = {}
        self._producing = 0
        self._sends = 0  # that are acknowledged
        self._is_stuck = False  # with a loss that the query must not pass over
        self.losses: Losses = Losses(self)
        self.servers = ",".join(f"{host}:{port}" for host, port in addresses)
        self.jobs = JobRunner(
            scenario.jobs,
            lambda job: options_of(job, self.servers, scenario.write),
            self.disk,
            self.executors,
            partial(states, self),
            partial(timestamps, self),
            self._is_at_end,
            self.trace,
        )

    # --- The run ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make topics, and schedule all that the scenario has."""
        scenario, later = self.scenario, self.scheduler.call_after
        for topic in scenario.topics:
            self.cluster.create_topic(
                topic.name, topic.partitions, topic.replication, dict(topic.config)
            )
        self._create_outputs()
        for fault in scenario.faults:
            later(fault.at_ms, partial(self._fault, fault.kind, fault.arguments))
            if fault.for_ms:
                later(fault.at_ms + fault.for_ms, partial(self._heal, fault.kind, fault.arguments))
        for name in dict.fromkeys(s.producer for s in scenario.sends if s.kind != "appended"):
            self._start_producer(name)
        for send in scenario.sends:
            if send.kind == "appended":
                self._producing += len(send.parts)
                later(send.at_ms, partial(self._append, send))
        later(scenario.begin_ms, self._start_driver)
        if scenario.source.get("startingOffsets") == "group":
            later(scenario.begin_ms * _COMMITS_AT, partial(committer.start, self))
        self.jobs.start()

    def _create_outputs(self) -> None:
        """Make the topics that queries write to."""
        scenario = self.scenario
        if scenario.sink != "files":
            # Partitions of the input may be added.
            partitions = scenario.topics[0].partitions + MOST_ADDED
            config = {k: v for k, v in scenario.topics[0].config.items() if k in _ALSO_OF_OUTPUT}
            self.cluster.create_topic(OUTPUT, partitions, min(3, scenario.nodes), config)
        if any(job.kind.startswith("write") for job in scenario.jobs):
            self.cluster.create_topic(WRITTEN, 3, min(3, scenario.nodes), {})
        if scenario.has_letters:
            self.cluster.create_topic(LETTERS, 3, min(3, scenario.nodes), {})

    def is_level(self) -> bool:
        """Whether everything that can be read is processed, and committed in Spark's log."""
        if self._producing or not self.jobs.is_done or self.disk.finished != len(self.disk.ends):
            return False
        processed = self.disk.processed()
        for topic in self.scenario.topics:
            for partition in self.partitions(topic.name):
                number = partition.partition
                if not self.scenario.reads(topic.name, number):
                    continue
                end = self._end(partition)
                if end is None or processed.get(topic.name, {}).get(str(number), 0) < end:
                    return False
        return True

    def _is_at_end(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Whether positions are the ends of the logs of the input, after the last fault."""
        scenario = self.scenario
        last_ms = max([0.0, *(each.at_ms + each.for_ms for each in scenario.faults)])
        last_ms = max([last_ms, *(each.at_ms for each in scenario.sends)])
        ends = {each: self._end(each) for each in self.partitions(INPUT)}
        return self.scheduler.elapsed_ms > last_ms and all(
            end is not None and positions.get(each, 0) >= end for each, end in ends.items()
        )

    def partitions(self, topic: str) -> list[TopicPartition]:
        count = len(self.cluster.controller.topics[topic].partitions)
        return [TopicPartition(topic, number) for number in range(count)]

    def _end(self, partition: TopicPartition) -> int | None:
        """Where a log ends, once all of it is replicated and decided; None until then.

        A log that was cut may have lost the marker of a transaction, which is open for ever then.
        """
        try:
            # A leader that has just started knows an older high watermark.
            end = self.cluster.log_end(partition)
            decided = self.cluster.last_stable_offset(partition)
            is_replicated = self.cluster.high_watermark(partition) == end
        except NoLeaderError:
            return None
        if any(each.kind == "unclean election" for each in self.scenario.faults) and is_replicated:
            return decided if self.scenario.is_committed_view else end
        return end if decided == end else None

    # --- Faults -----------------------------------------------------------------------------------

    def _fault(self, kind: str, arguments: dict[str, object]) -> None:
        self.trace.note("fault", kind, *sorted(arguments.items()))
        KINDS[kind].begin(self, arguments)

    def _heal(self, kind: str, arguments: dict[str, object]) -> None:
        self.trace.note("fault", f"end of {kind}", *sorted(arguments.items()))
        end = KINDS[kind].end
        if end is not None:
            end(self, arguments)

    def crash_driver(self) -> None:
        """The driver dies."""
        if self.driver_strand is not None:
            self.processes.kill(self.driver_strand)

    # --- Drivers ----------------------------------------------------------------------------------

    def _start_driver(self) -> None:
        scenario = self.scenario
        life = self.outcome.lives = self.outcome.lives + 1
        if life == 1:
            self._at_start = states(self), self.scheduler.now_ms
        settings = QuerySettings(
            scenario.interface,
            scenario.trigger,
            {"kafka.bootstrap.servers": self.servers, **scenario.strategy, **scenario.source},
            self._sink(),
            scenario.pause_ms,
            scenario.columns,
        )
        driver = Driver(life, settings, self.disk, self.executors, self.history)
        strand = Strand(f"driver {life}", Process(f"driver {life}", DRIVER_HOST))
        self.driver_strand = strand
        self.trace.note(strand.name, "starts")
        self.processes.start(strand, driver.run, lambda result: self._driver_ended(driver, result))

    def _schema_versions(self) -> int:
        return 1 if self.scheduler.elapsed_ms < self.scenario.grows_at_ms else 2

    def _note_begun(self) -> None:
        """The logs, when the first micro-batch of the query is logged."""
        self.outcome.begun = Begun(*self._at_start, states(self), self.scheduler.now_ms)

    def _note_commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """What a coordinator is to commit, and how many micro-batches are finished."""
        self.outcome.commits += [
            Commit(group, (tp.topic, tp.partition), offset, self.disk.finished)
            for tp, offset in offsets.items()
            if self.committed_by_other.get(tp) != offset
        ]

    def _note_letters(self, batch: int) -> None:
        """Where the dead letters end, when a micro-batch is committed."""
        if not self.scenario.has_letters:
            return
        ends = self.outcome.letters.setdefault(batch, {})
        for partition in self.partitions(LETTERS):
            with suppress(NoLeaderError):
                ends[partition] = self.cluster.log_end(partition)

    def _sink(self) -> dict[str, str] | None:
        if self.scenario.sink == "files":
            return None
        sink = {
            "kafka.bootstrap.servers": self.servers,
            "topic": OUTPUT,
            "checkpointLocation": "memory",
            **self.scenario.write,
        }
        if self.scenario.sink == "exactly once":
            sink |= {
                "deliveryGuarantee": "exactly_once",
                "transactionalIdPrefix": "copy",
                "commitLogTopic": COMMIT_LOG,
            }
        return sink

    def _driver_ended(self, driver: Driver, result: object) -> None:
        scenario = self.scenario
        self.driver_strand = None
        life = self.outcome.lives
        self.trace.note(f"driver {life}", "ends", type(result).__name__)
        if isinstance(result, BaseException) and not isinstance(result, ProcessKilledError):
            self.outcome.errors.append(f"{type(result).__name__}: {result}")
            # Where nothing is lost, that is a false alarm, and nothing more is to be seen.
            self._is_stuck = isinstance(cause_of(result), DataLossError)
            if self._is_stuck:
                self.outcome.alarms.append(self.outcome.errors[-1])
            self._judge_error("the query", result)
        if driver.job is not None:
            self.scheduler.call_after(scenario.orphan_ms, driver.job.cancel)
        self.scheduler.call_after(scenario.restart_ms, self._start_driver)

    def _judge_error(self, who: str, error: BaseException) -> None:
        cause = cause_of(error)
        if isinstance(cause, BrokerError):
            self.outcome.refused.append(Refused(who, cause.error, str(cause)))
        # Every login is right.
        is_expected = isinstance(cause, (*_EXPECTED, ProcessKilledError))
        if not is_expected or isinstance(cause, AuthenticationError):
            self.outcome.unexpected.append(f"{type(cause).__name__} ended the query: {cause}")

    # --- Producers --------------------------------------------------------------------------------

    def _start_producer(self, name: str) -> None:
        options = {"bootstrap.servers": self.servers}
        options |= {
            key.removeprefix("kafka."): value for key, value in self.scenario.producer.items()
        }
        sends = [
            send
            for send in self.scenario.sends
            if send.producer == name and send.kind != "appended"
        ]
        producer = SendingProducer(
            name, sends, options, self.scenario.values, self.scenario.has_headers, self._sent
        )
        run = partial(producer.run, self.scheduler, self.processes, self.trace)
        self._producing += 1
        self.processes.start(Strand(name, Process(name, name)), run, self._producer_ended)

    def _append(self, send: Send) -> None:
        """Append the batches of another client, once their partitions have leaders."""
        timestamp = int(self.scheduler.now_ms)
        for part, data in appended(send, self.scenario.values, timestamp):
            if part.partition >= len(self.partitions(part.topic)):
                self._producing -= 1  # the topic was created again, with fewer partitions
                continue
            try:
                self.cluster.append_as(TopicPartition(part.topic, part.partition), data)
                self._producing -= 1
            except NoLeaderError:
                again = partial(self._append, send._replace(parts=(part,)))
                self.scheduler.call_after(_CHECK_MS, again)

    def _producer_ended(self, result: object) -> None:
        self._producing -= 1
        if isinstance(result, Exception):
            self.outcome.unexpected.append(f"{type(result).__name__} ended a producer: {result}")

    def _sent(self, send: Send, error: KafkaError | None) -> None:
        if isinstance(error, BrokerError):
            self.outcome.refused.append(Refused(send.producer, error.error, str(error)))
        if error is not None:
            return
        outcome = {"plain": "committed", "commit": "committed", "abort": "aborted"}[send.kind]
        self._sends += 1
        self.outcome.sent += [
            Sent(
                part.topic,
                part.partition,
                self.scenario.values.key(part.topic, part.partition, number),
                self.scenario.values.of(part.topic, part.partition, number),
                outcome,
                self._sends,
            )
            for part in send.parts
            for number in range(part.first, part.first + part.length)
        ]

    # --- What is left -----------------------------------------------------------------------------

    def log(self, partition: TopicPartition) -> list[LogRecord]:
        return [
            LogRecord(each.offset, each.timestamp, each.key, each.value, each.outcome, each.headers)
            for each in self.cluster.log(partition)
        ]

    def run_until_level(self) -> None:
        """Run everything, until it is processed or the bound has passed."""
        quiet_ms = self.scenario.quiet_from_ms
        until_ms = quiet_ms + LEVEL_BOUND_MS
        self.scheduler.run(lambda: False, quiet_ms)
        found = False

        def check() -> None:
            nonlocal found
            found = found or self._is_stuck or self.is_level()
            self.scheduler.call_after(_CHECK_MS, check)

        self.scheduler.call_after(quiet_ms - self.scheduler.elapsed_ms + 1, check)
        self.scheduler.run(lambda: found, until_ms)
        self.outcome.is_level = found and not self._is_stuck
        self.outcome.is_stuck = self._is_stuck
        self.outcome.level_ms = self.scheduler.elapsed_ms


def settings_of(scenario: Scenario) -> BrokerSettings:
    """The configuration of the brokers."""
    nodes = range(1, scenario.nodes + 1) if scenario.has_racks else ()
    racks = {node: f"rack-{node}" for node in nodes}
    service = SERVICES[scenario.service]
    if any("after_ms" in each.arguments for each in scenario.faults):
        # A replica that is cut off soon counts no more, so that what it lacks is read.
        return BrokerSettings(racks=racks, replica_lag_ms=_SOON_MS, service=service)
    return BrokerSettings(racks=racks, service=service)


def cause_of(error: BaseException) -> BaseException | None:
    """The error of the task that failed too often; else the error itself."""
    return error.__cause__ if isinstance(error, TaskFailedError) else error
