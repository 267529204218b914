"""Campaigns: seeds are run and counted; what is wrong with the product is found and made small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pyarrow as pa
import pytest

from kafka_protocol.columnar.reading import decode
from tests.simulation import __main__ as command
from tests.simulation import campaign
from tests.simulation.drawing import draw
from tests.simulation.scenario import INPUT, Part, Scenario, Send, Topic
from tests.simulation.shrink import shrink

SMALL = Scenario(
    seed=1,
    topics=(Topic(INPUT, 2, 2),),
    sends=tuple(
        Send(100.0 * number, "producer-0", "plain", (Part(INPUT, number % 2, 4 * number, 4),))
        for number in range(6)
    ),
    faults=draw(0).faults[:2],
    source={"startingOffsets": "earliest", "maxOffsetsPerTrigger": "10"},
)


def without_last_row(
    decode_batches: Callable[..., Iterator[pa.RecordBatch]], *arguments: Any, **options: Any
) -> Iterator[pa.RecordBatch]:
    """A fault: batches of more than two rows lose the last one."""
    for batch in decode_batches(*arguments, **options):
        yield batch.slice(0, batch.num_rows - 1) if batch.num_rows > 2 else batch


def test_a_good_scenario_has_no_problems() -> None:
    assert campaign.problems_of(SMALL) == []


def test_a_fault_of_the_product_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = partial(without_last_row, decode.decode_batches)
    monkeypatch.setattr(decode, "decode_batches", broken)
    assert any(" lost, as " in each for each in campaign.problems_of(SMALL))
    smallest = shrink(
        replace(SMALL, slots=2), lambda each: bool(campaign.problems_of(each)), most_runs=60
    )
    assert not smallest.faults
    assert (len(smallest.sends), smallest.records) == (1, 4)
    assert "maxOffsetsPerTrigger" not in smallest.source


def test_a_run_that_fails_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scenario: Scenario) -> None:
        raise ValueError("the brokers are broken")

    monkeypatch.setattr(campaign, "run", fail)
    (problem,) = campaign.problems_of(SMALL)
    assert "the brokers are broken" in problem


def results(fails_at: int | None) -> Callable[[int], campaign.Result]:
    def result_of(seed: int) -> campaign.Result:
        problems = ["wrong"] if seed == fails_at else []
        faults = Counter({"kill broker": 2})
        return campaign.Result(seed, faults, problems, 10, 1_000.0, 5, "files")

    return result_of


def test_a_campaign_counts_and_stops_at_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "result_of", results(fails_at=13))
    totals = campaign.campaign(10, seeds=20)
    assert (totals.seeds, totals.records, totals.virtual_ms) == (4, 40, 4_000)
    assert totals.faults == {"kill broker": 8}
    assert [each.seed for each in totals.failures] == [13]


def test_a_campaign_ends_after_its_seeds_or_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "result_of", results(fails_at=None))
    assert campaign.campaign(0, seeds=3).seeds == 3
    ticks = count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    assert campaign.campaign(0, seconds=5).seeds == 5


@pytest.mark.parametrize("fails_at", [None, 2])
def test_the_command(
    fails_at: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaign, "result_of", results(fails_at))
    monkeypatch.setattr("sys.argv", ["simulation", "--seed", "0", "--seeds", "4"])
    shown: list[int] = []
    monkeypatch.setattr(command, "_show_failure", lambda seed, *_: shown.append(seed))
    assert command.main() == (0 if fails_at is None else 1)
    assert shown == ([] if fails_at is None else [2])
    out = capsys.readouterr().out
    assert "kill broker" in out
    assert "0 failed" in out or "1 failed" in out
