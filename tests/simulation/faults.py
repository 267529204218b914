"""The kinds of faults and changes, in one table: how each is drawn, begins and ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.versions.releases import parse_release
from tests.simulation.link import Delay, Link
from tests.simulation.scenario import (
    EXECUTORS,
    INPUT,
    MOST_ADDED,
    OUTPUT,
    RELEASES,
    Fault,
    Scenario,
)
from tests.simulation.spark import DRIVER_HOST

if TYPE_CHECKING:
    from tests.simulation.world import World

Arguments = dict[str, Any]

_PRODUCERS: Final = ("producer-0", "producer-1", "producer-2")
_TRANSACTIONAL_IDS: Final = (
    "copy-driver",
    "copy-0-0",
    "copy-3-0",
    "producer-1-transactions",
    "producer-2-transactions",
)
# About as many as the commit of an exactly-once micro-batch makes.
_CALLS_OF_A_COMMIT: Final = 95
_APIS: Final = ("METADATA", "LIST_OFFSETS", "FETCH", "PRODUCE", "INIT_PRODUCER_ID")
_APIS_OF_TRANSACTIONS: Final = (
    *_APIS,
    "FIND_COORDINATOR",
    "ADD_PARTITIONS_TO_TXN",
    "END_TXN",
    "END_TXN",
    "END_TXN",
)
_HOSTS: Final = (DRIVER_HOST, *EXECUTORS, *_PRODUCERS)


class Kind(NamedTuple):
    """A kind of fault.

    Attributes:
        weight: How often it is drawn, compared with others; 0 for one that is drawn elsewhere.
        draw: Its arguments.
        begin, end: What it does; `end` is called after the fault's time, None for no end.
        lasts_ms: The range that its time is drawn from.
    """

    weight: float
    draw: Callable[[random.Random, Scenario], Arguments]
    begin: Callable[[World, Arguments], object]
    end: Callable[[World, Arguments], object] | None = None
    lasts_ms: tuple[float, float] = (0.0, 0.0)


# --- How arguments are drawn ----------------------------------------------------------------------


def _node(rng: random.Random, scenario: Scenario) -> Arguments:
    return {"node": rng.randint(1, scenario.nodes)}


def _link(rng: random.Random, scenario: Scenario) -> Arguments:
    hosts = rng.choice((_HOSTS, (DRIVER_HOST,), EXECUTORS, EXECUTORS[:1], _PRODUCERS))
    nodes = rng.choice((_nodes(scenario), [rng.randint(1, scenario.nodes)]))
    return {"hosts": [*hosts], "nodes": nodes}


def _one_way(rng: random.Random, scenario: Scenario) -> Arguments:
    ways = rng.choice((["requests"], ["responses"], ["requests", "responses"]))
    return {**_link(rng, scenario), "ways": ways}


def _api(rng: random.Random, scenario: Scenario) -> Arguments:
    apis = _APIS_OF_TRANSACTIONS if scenario.sink == "exactly once" else _APIS
    way = rng.choice(("request", "response"))
    return {"api": rng.choice(apis), "way": way, "hosts": [*_HOSTS], "nodes": _nodes(scenario)}


def _nodes(scenario: Scenario) -> list[int]:
    return [*range(1, scenario.nodes + 1)]


def _partition(rng: random.Random, scenario: Scenario) -> Arguments:
    topic = rng.choice((INPUT, INPUT, OUTPUT)) if scenario.sink != "files" else INPUT
    return {"topic": topic, "partition": rng.randrange(scenario.topics[0].partitions)}


def _partition_and_node(rng: random.Random, scenario: Scenario) -> Arguments:
    return {**_partition(rng, scenario), **_node(rng, scenario)}


def _later_release(rng: random.Random, scenario: Scenario) -> str:
    oldest = parse_release(scenario.release)
    return rng.choice([each for each in RELEASES if parse_release(each) >= oldest])


def _nothing(rng: random.Random, scenario: Scenario) -> Arguments:
    return {}


def _within(rng: random.Random, scenario: Scenario) -> Arguments:
    call = rng.choice(("commit", "commit", "streamWriter", "partitions", "latestOffset"))
    return {"call": call, "calls": rng.randint(1, _CALLS_OF_A_COMMIT)}


# --- What faults do -------------------------------------------------------------------------------


def _links(world: World, arguments: Arguments) -> Iterator[Link]:
    return world.network.links(arguments["hosts"], arguments["nodes"])


def _setting(**fields: object) -> Callable[[World, Arguments], None]:
    """Set fields of all links of a fault."""

    def change(world: World, arguments: Arguments) -> None:
        for link in _links(world, arguments):
            for name, value in fields.items():
                setattr(link, name, value)

    return change


def _break_at(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        link.breaks_at = arguments["api"], arguments["way"]


def _break_no_more(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        link.breaks_at = None


def _delay(world: World, arguments: Arguments) -> None:
    names = ("api", "late_ms", "is_partition", "skips")
    for link in _links(world, arguments):
        link.delay = Delay(*(arguments[each] for each in names))


def _hold(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        for way in arguments["ways"]:
            setattr(link, f"holds_{way}", True)


def _let_go(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        link.holds_requests = link.holds_responses = False
        for connection in [*link.connections.values()]:
            connection.release()


def _reset(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        for connection in [*link.connections.values()]:
            connection.reset()


def _half_open(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        for connection in link.connections.values():
            connection.is_silent = True


def _misroute(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        link.leads_to = arguments["leads_to"]
        for connection in [*link.connections.values()]:
            connection.reset()


def _route(world: World, arguments: Arguments) -> None:
    for link in _links(world, arguments):
        link.leads_to = None
        for connection in [*link.connections.values()]:
            connection.reset()


def _elect(world: World, arguments: Arguments) -> None:
    partition = TopicPartition(arguments["topic"], arguments["partition"])
    if partition in world.partitions(partition.topic):
        world.cluster.elect(partition, arguments["node"])


def _crash_at_call(world: World, arguments: Arguments) -> None:
    strand = world.driver_strand
    if strand is not None:
        strand.dies_at_call = strand.calls + arguments["calls"]


def _task_dies(world: World, arguments: Arguments) -> None:
    running = [*world.executors.running.values()]
    if running:
        strand = running[arguments["which"] % len(running)]
        strand.dies_at_call = strand.calls + arguments["calls"]


def _roll(world: World, arguments: Arguments) -> None:
    world.cluster.start(arguments["node"], arguments["release"])


KINDS: Final[dict[str, Kind]] = {
    "kill broker": Kind(
        3,
        _node,
        lambda world, a: world.cluster.kill(a["node"]),
        lambda world, a: world.cluster.start(a["node"]),
        (500, 15_000),
    ),
    "pause broker": Kind(
        2,
        _node,
        lambda world, a: world.cluster.pause(a["node"]),
        lambda world, a: world.cluster.resume(a["node"]),
        (200, 20_000),
    ),
    "isolate broker": Kind(
        1,
        _node,
        lambda world, a: world.cluster.isolate(a["node"]),
        lambda world, a: world.cluster.rejoin(a["node"]),
        (500, 15_000),
    ),
    "elect": Kind(3, _partition_and_node, _elect),
    "move coordinator": Kind(
        2,
        lambda rng, scenario: {"key": rng.choice(_TRANSACTIONAL_IDS)},
        lambda world, a: world.cluster.move_coordinator("transaction", a["key"]),
    ),
    "stale metadata": Kind(
        1,
        lambda rng, scenario: {**_node(rng, scenario), "ms": rng.randint(100, 15_000)},
        lambda world, a: world.cluster.keep_stale(a["node"], a["ms"]),
    ),
    "quota": Kind(
        1,
        lambda rng, scenario: {"bytes_per_s": rng.choice((5_000, 30_000))},
        lambda world, a: world.cluster.set_quota(a["bytes_per_s"]),
        lambda world, a: world.cluster.set_quota(None),
        (500, 8_000),
    ),
    "roll broker": Kind(
        1,
        lambda rng, scenario: {
            **_node(rng, scenario),
            "release": _later_release(rng, scenario),
        },
        lambda world, a: world.cluster.stop(a["node"]),
        _roll,
        (500, 5_000),
    ),
    "add partitions": Kind(
        1,
        lambda rng, scenario: {"count": rng.randint(1, MOST_ADDED)},
        lambda world, a: world.cluster.add_partitions(
            INPUT,
            max(len(world.partitions(INPUT)), world.scenario.topics[0].partitions + a["count"]),
        ),
    ),
    "delete records": Kind(
        0.5,
        lambda rng, scenario: {
            "topic": INPUT,
            "partition": rng.randrange(scenario.topics[0].partitions),
            "share": round(rng.uniform(0.1, 1.0), 2),
        },
        lambda world, a: world.losses.delete_records(
            TopicPartition(a["topic"], a["partition"]), a["share"]
        ),
    ),
    "compact": Kind(0.5, _nothing, lambda world, a: world.losses.compact()),
    "retention": Kind(
        0.5,
        lambda rng, scenario: {
            "config": rng.choice(({"retention.ms": "3000"}, {"retention.bytes": "6000"}))
        },
        lambda world, a: world.losses.apply_retention(a["config"]),
    ),
    "unclean election": Kind(
        0.2,
        lambda rng, scenario: {
            "partition": rng.randrange(scenario.topics[0].partitions),
            **_node(rng, scenario),
        },
        lambda world, a: world.losses.elect_behind(
            a["partition"], a["node"], a.get("after_ms", 900)
        ),
        lambda world, a: world.losses.rejoin(a["partition"], a["node"]),
        (1_000, 6_000),
    ),
    "recreate topic": Kind(
        0.2,
        lambda rng, scenario: {"partitions": rng.choice((3, 6, 7))},
        lambda world, a: world.losses.recreate(a["partitions"]),
    ),
    "partition network": Kind(3, _one_way, _hold, _let_go, (100, 40_000)),
    "reset connections": Kind(3, _link, _reset),
    "half open": Kind(1, _link, _half_open),
    "cut requests": Kind(2, _link, _setting(cuts_request=True)),
    "cut responses": Kind(2, _link, _setting(cuts_response=True)),
    "break at an API": Kind(4, _api, _break_at, _break_no_more, (500, 8_000)),
    # Drawn by `drawing_late` only.
    "late request": Kind(0, _nothing, _delay, _setting(delay=None), (500, 8_000)),
    "lose response": Kind(1, _link, _setting(copies_of_response=0)),
    "repeat response": Kind(1, _link, _setting(copies_of_response=2)),
    "slow bytes": Kind(
        1, _link, _setting(piece_bytes=300), _setting(piece_bytes=None), (500, 4_000)
    ),
    "slow network": Kind(2, _link, _setting(extra_ms=80.0), _setting(extra_ms=0.0), (500, 8_000)),
    "misroute": Kind(
        1,
        lambda rng, scenario: {
            **_link(rng, scenario),
            "leads_to": rng.randint(1, scenario.nodes),
        },
        _misroute,
        _route,
        (500, 8_000),
    ),
    "lose name": Kind(
        1, _link, _setting(is_unknown=True), _setting(is_unknown=False), (500, 8_000)
    ),
    "crash driver": Kind(4, _nothing, lambda world, a: world.crash_driver()),
    "crash driver at call": Kind(
        4, lambda rng, scenario: {"calls": rng.randint(1, 60)}, _crash_at_call
    ),
    "crash driver within": Kind(
        5,
        _within,
        lambda world, a: world.history.crashes.append((a["call"], a["calls"])),
    ),
    "kill task": Kind(
        4,
        lambda rng, scenario: {"which": rng.randrange(6), "calls": rng.randint(1, 30)},
        _task_dies,
    ),
    "crash executor": Kind(
        1,
        lambda rng, scenario: {"host": rng.choice(EXECUTORS)},
        lambda world, a: world.executors.crash(a["host"]),
    ),
}


def draw_faults(rng: random.Random, scenario: Scenario) -> tuple[Fault, ...]:
    """Some faults at random moments; none at all in a tenth of the scenarios."""
    count = rng.choice((0, 1, 2, 3, 4, 6, 8, 8, 12, 16))
    names, weights = [*KINDS], [kind.weight for kind in KINDS.values()]
    faults = []
    for name in rng.choices(names, weights, k=count):
        kind = KINDS[name]
        lasts_ms = round(rng.uniform(*kind.lasts_ms), 1)
        at_ms = round(rng.uniform(200, 15_000), 1)
        faults.append(Fault(at_ms, name, lasts_ms, kind.draw(rng, scenario)))
    if faults and scenario.sink == "exactly once" and rng.random() < 0.5:
        # Between a decision and its end is most of what can go wrong.
        arguments = {"call": "commit", "calls": rng.randint(1, _CALLS_OF_A_COMMIT)}
        at_ms = round(rng.uniform(200, 15_000), 1)
        faults.append(Fault(at_ms, "crash driver within", 0.0, arguments))
    return tuple(sorted(faults, key=lambda each: each.at_ms))
