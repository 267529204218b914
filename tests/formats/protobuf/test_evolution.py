"""Old readers of new payloads, and new readers of old ones, read as protobuf's own runtime does.

`python -m tests.formats.protobuf.test_evolution 0 20000` compares with the seeds in between, and
prints what was seen.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence

import pytest

from kafka_formats.errors import SchemaError
from kafka_formats.protobuf.descriptors import message_in
from kafka_formats.protobuf.types import message_type
from tests.formats.protobuf.comparison import BROKEN, Comparison, Difference
from tests.formats.protobuf.evolution import random_payload, random_reader, random_schema

PAYLOADS = 12


def compare(seed: int, seen: Counter[str]) -> None:
    """One writer's payloads, read with its own schema and with another one."""
    rng = random.Random(seed)
    writer = random_schema(rng)
    payloads = [random_payload(rng, writer) for _ in range(PAYLOADS)]
    for schema in (writer, random_reader(rng, writer)):
        text = schema.text()
        try:
            compared = Comparison(text, message_type(message_in(text)))
        except SchemaError:
            seen[f"{schema.syntax}: refused schemas"] += 1
            continue
        found = compared.differences([b"".join(each) for each in payloads])
        for each in payloads:
            outcome = "broken" if compared.wanted(b"".join(each)) == BROKEN else "read"
            seen[f"{schema.syntax}: {outcome}"] += 1
        seen[f"{schema.syntax}: scanned at once"] += compared.scanned
        if found:
            different = next(each for each in payloads if b"".join(each) == found[0].payload)
            raise AssertionError(f"seed {seed}\n{schema}\n{_smallest(compared, different)}")


def _smallest(compared: Comparison, pieces: Sequence[bytes]) -> Difference:
    """The difference with the fewest of the fields of a payload."""
    smallest = list(pieces)
    for piece in pieces:
        fewer = [each for each in smallest if each is not piece]
        if compared.differences([b"".join(fewer)]):
            smallest = fewer
    return compared.differences([b"".join(smallest)])[0]


@pytest.mark.no_cover
def test_some_seeds() -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        compare(seed, seen)
    for syntax in ("proto2", "proto3", "2023", "2024"):
        assert seen[f"{syntax}: read"] > 50
        assert seen[f"{syntax}: broken"] > 0
        assert seen[f"{syntax}: scanned at once"] > 0
        assert not seen[f"{syntax}: refused schemas"]


@pytest.mark.slow
@pytest.mark.no_cover
def test_many_new_seeds() -> None:
    first = random.randrange(2**40)
    for seed in range(first, first + 2_000):
        compare(seed, Counter())


if __name__ == "__main__":
    counts: Counter[str] = Counter()
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        compare(number, counts)
    for what in sorted(counts):
        sys.stdout.write(f"{what:<25} {counts[what]:>9}\n")
