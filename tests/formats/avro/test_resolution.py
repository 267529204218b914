"""Schema resolution against Java's library and fastavro, on random pairs of schemas.

Each pair is resolved by all of them, and its payloads are read by both of our decoders. Where the
outcomes differ, `docs/formats.md` says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from tests.formats.avro.resolution.java import JavaAvro
from tests.formats.avro.resolution.judge import Verdict, question, verdicts
from tests.formats.avro.resolution.maker import Maker
from tests.formats.avro.resolution.pairs import Pair
from tests.formats.avro.resolution.shrink import smallest

# Asked at a time: pipes are not full before the other side reads.
_AT_ONCE = 100
# Pairs must have many outcomes: each of these is seen.
_SEEN = (
    "equal, fastavro's is equal, too",
    "refused or broken in both",
    "broken, as Java's value has other digits",
    "broken, as Java's value has other meaning",
)


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAvro]:
    process = JavaAvro()
    yield process
    process.close()


def judged(java: JavaAvro, pairs: Sequence[Pair]) -> list[list[Verdict]]:
    answers = java.read([question(each) for each in pairs])
    return [[*verdicts(*each)] for each in zip(pairs, answers, strict=True)]


def check_pairs(java: JavaAvro, seed: int, count: int) -> Counter[str]:
    """The verdicts on pairs of a seed, by their number; fails for a fault."""
    maker = Maker(seed)
    counts: Counter[str] = Counter()
    for _ in range(0, count, _AT_ONCE):
        pairs = [maker.pair() for _ in range(_AT_ONCE)]
        for pair, listed in zip(pairs, judged(java, pairs), strict=True):
            counts.update(each.outcome for each in listed)
            if faults := [each for each in listed if each.is_fault]:
                pytest.fail(f"seed {seed}: {_shown(java, pair, faults[0])}")
    return counts


def _shown(java: JavaAvro, pair: Pair, fault: Verdict) -> str:
    def has_fault(smaller: Pair) -> bool:
        (listed,) = judged(java, [smaller])
        return fault.outcome in [each.outcome for each in listed if each.is_fault]

    small = smallest(pair, has_fault)
    (listed,) = judged(java, [small])
    (again, *_) = [each for each in listed if each.is_fault]
    lines = [
        again.outcome,
        f"writer {json.dumps(small.writer)}",
        f"reader {json.dumps(small.reader)}",
        f"values {small.values!r}",
        again.details,
    ]
    return "\n".join(lines)


@pytest.mark.no_cover
def test_resolution_equals_that_of_java(java: JavaAvro) -> None:
    counts = check_pairs(java, seed=1, count=300)
    assert set(_SEEN) <= counts.keys()


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(2, 12))
def test_resolution_of_many_pairs(java: JavaAvro, seed: int) -> None:
    counts = check_pairs(java, seed, count=1_000)
    assert set(_SEEN) <= counts.keys()
