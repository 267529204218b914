"""What a stream reads and where it starts: all forms are drawn, and the scenario knows them."""

from __future__ import annotations

from dataclasses import replace

from tests.simulation.drawing import draw
from tests.simulation.run import run
from tests.simulation.scenario import INPUT, MORE, Part, Scenario, Send, Topic


def test_all_forms_are_drawn() -> None:
    scenarios = [*map(draw, range(300))]
    starts = {
        key
        for each in scenarios
        for key in each.source
        if key.startswith(("starting", "subscribe", "assign", "commit", "includeHeaders"))
    }
    assert starts == {
        "startingOffsets",
        "startingTimestamp",
        "startingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "subscribe",
        "subscribePattern",
        "assign",
        "commitOffsetsToGroup",
        "includeHeaders",
    }
    assert {"group", "latest-30", "-2s"} <= {s.source.get("startingOffsets") for s in scenarios}
    assert any(each.has_racks for each in scenarios)
    configs = {name for each in scenarios for topic in each.topics for name in topic.config}
    assert configs == {"min.insync.replicas", "max.message.bytes", "message.timestamp.type"}


def test_what_a_stream_reads() -> None:
    scenario = Scenario(1, source={"subscribe": f"{INPUT},{MORE}"})
    assert scenario.reads(MORE, 1)
    assert not Scenario(1).reads(MORE, 1)
    assert replace(scenario, source={"subscribePattern": "^in"}).reads(MORE, 1)
    assigned = replace(scenario, source={"assign": '{"in": [1]}'})
    assert [assigned.reads(INPUT, number) for number in range(3)] == [False, True, False]


SENDS = tuple(
    Send(500.0 * number, "producer-0", "plain", (Part(INPUT, number % 2, 5 * number, 5),))
    for number in range(10)
)


def test_a_start_by_time_leaves_out_what_is_older() -> None:
    scenario = Scenario(
        2,
        topics=(Topic(INPUT, 2, 1),),
        sends=SENDS,
        source={"startingTimestamp": str(1_700_000_002_200)},
        begin_ms=4_000.0,
    )
    outcome, _ = run(scenario)
    first = {
        number: next(
            each.offset
            for each in outcome.logs[INPUT, number]
            if each.timestamp_ms >= 1_700_000_002_200
        )
        for number in range(2)
    }
    assert {number: outcome.first[INPUT, number] for number in range(2)} == first
    assert min(first.values()) > 0
