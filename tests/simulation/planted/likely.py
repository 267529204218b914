"""What scenarios have that a planted fault is about: a hunt runs these first."""

from __future__ import annotations

from collections.abc import Callable

from kafka_protocol.versions.releases import parse_release
from tests.simulation.producers import SLOW
from tests.simulation.scenario import GROUP, Scenario

Likely = Callable[[Scenario], bool]


def has_option(*names: str) -> Likely:
    """The stream has one of these options."""
    return lambda scenario: any(name in scenario.source for name in names)


def is_at(*services: str) -> Likely:
    """The brokers are of one of these services."""
    return lambda scenario: scenario.service in services


def has_job(kind: str) -> Likely:
    """There is such a job beside the stream."""
    return lambda scenario: any(job.kind == kind for job in scenario.jobs)


def has_fault(*kinds: str) -> Likely:
    """Such a fault happens."""
    return lambda scenario: any(fault.kind in kinds for fault in scenario.faults)


def starts_at(text: str) -> Likely:
    """The stream starts at this place, everywhere or in some partitions."""
    return lambda scenario: text in scenario.source.get("startingOffsets", "")


def is_exactly_once(scenario: Scenario) -> bool:
    """The stream writes exactly once, and something goes wrong."""
    return scenario.sink == "exactly once" and len(scenario.faults) > 3


def gives_up_early(scenario: Scenario) -> bool:
    """Tasks end before batches of them arrive, and brokers append such a batch."""
    late = any(fault.kind == "late request" for fault in scenario.faults)
    is_short = scenario.write.get("kafka.delivery.timeout.ms") == "2000"
    return late and is_short and parse_release(scenario.release) < (3, 6)


def ends_late(scenario: Scenario) -> bool:
    """Ends of transactions are late, little else happens, and brokers describe transactions."""
    kinds = {fault.kind for fault in scenario.faults}
    is_alone = kinds == {"slow network", "late request", "crash driver within"}
    return is_alone and parse_release(scenario.release) >= (3, 0)


def dies_deciding(scenario: Scenario) -> bool:
    """The stream writes exactly once, and its driver dies in a commit when it may be decided."""
    commits = [f.arguments for f in scenario.faults if f.kind == "crash driver within"]
    dies = any(each["call"] == "commit" and 45 <= each["calls"] <= 70 for each in commits)
    return dies and scenario.sink == "exactly once"


def asks_a_replaced_leader(scenario: Scenario) -> bool:
    """A read asks a broker first that others have replaced."""
    return any("kafka.bootstrap.servers" in job.options for job in scenario.jobs)


def tells_topic_ids(scenario: Scenario) -> bool:
    """The rows have the ids of their topics."""
    return scenario.source.get("includeTopicId") == "true"


def is_written(scenario: Scenario) -> bool:
    """The stream writes to Kafka, and something goes wrong."""
    return scenario.sink != "files" and len(scenario.faults) > 3


def has_blanks(scenario: Scenario) -> bool:
    """Some keys and values are null or empty."""
    return scenario.has_blanks


def has_append_time(scenario: Scenario) -> bool:
    """Brokers stamp the records."""
    return "message.timestamp.type" in scenario.topics[0].config


def has_transactions_between(scenario: Scenario) -> bool:
    """Transactions of several producers are open at the same time."""
    is_slow = any(send.style == SLOW for send in scenario.sends)
    return is_slow and scenario.is_committed_view


def is_table(scenario: Scenario) -> bool:
    """A stream or a batch has the newest record of each key."""
    options = [scenario.source, *(job.options for job in scenario.jobs)]
    return any(each.get("envelope") == "upsert" for each in options)


def spills(scenario: Scenario) -> bool:
    """A table does not fit in memory."""
    return scenario.spills and is_table(scenario)


def has_exact_times(scenario: Scenario) -> bool:
    """A filter has the timestamp of a record."""
    return any(str(each.value).startswith("~") for job in scenario.jobs for each in job.filters)


def is_cut(scenario: Scenario) -> bool:
    """A log loses its end while it is read."""
    return any("after_ms" in fault.arguments for fault in scenario.faults)


def has_new_leaders(scenario: Scenario) -> bool:
    """Leaders change often, and records are small, so that runs are short."""
    is_short = scenario.value_bytes <= 300 and scenario.sink == "files"
    return is_short and sum(fault.kind == "elect" for fault in scenario.faults) > 5


def splits_batches(scenario: Scenario) -> bool:
    """Brokers refuse the larger batches."""
    return "max.message.bytes" in scenario.topics[0].config


def has_uneven_batches(scenario: Scenario) -> bool:
    """Brokers refuse the first batch of a send, and not the second."""
    return any(send.producer.startswith("uneven") for send in scenario.sends)


def has_lone_leader(scenario: Scenario) -> bool:
    """A broker that leads without replicas dies."""
    alone = {f.arguments["node"] for f in scenario.faults if f.kind == "isolate broker"}
    return any(f.kind == "kill broker" and f.arguments["node"] in alone for f in scenario.faults)


def must_fail(scenario: Scenario) -> bool:
    """Records are lost, and the query must not go on."""
    return scenario.loses_records and scenario.source.get("failOnDataLoss") != "false"


def goes_on(scenario: Scenario) -> bool:
    """Records are lost, and the query goes on."""
    return scenario.loses_records and scenario.source.get("failOnDataLoss") == "false"


def commits_to_group(scenario: Scenario) -> bool:
    """The stream commits to a group."""
    return scenario.source.get("kafka.group.id") == GROUP and (
        "commitOffsetsToGroup" in scenario.source
    )


def grows(scenario: Scenario) -> bool:
    """The schema of the values grows."""
    return scenario.contents == "growing"
