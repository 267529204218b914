"""The limits of payloads that both readers keep."""

from __future__ import annotations

from typing import Final

from kafka_formats.avro.plan import Bytes, Decimal, Member, Null, Number, Plan, Struct

# The largest timestamp in ms that fits 64 bits in microseconds.
MAX_MILLIS: Final = (2**63 - 1) // 1_000
# The most items without bytes, such as nulls, of one list: nothing else limits them.
MAX_EMPTY_ITEMS: Final = 1_000

_NUMBER_BYTES: Final = {"int": 1, "long": 1, "float": 4, "double": 8}


def min_bytes(plan: Plan) -> int:
    """The least bytes of a value."""
    match plan:
        case Null():
            return 0
        case Number():
            return _NUMBER_BYTES[plan.written]
        case Bytes() | Decimal():
            return 1 if plan.size is None else plan.size
        case Struct():
            return sum(min_bytes(step.plan) for step in plan.steps)
        case Member():
            return min_bytes(plan.plan)
        case _:
            return 1
