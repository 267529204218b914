"""The values that order changes, as one column: a struct, which Spark compares field by field.

`apply_changes` keeps such a column in its table. `change_sequence` makes one for those who compare
sequences themselves, as AUTO CDC of declarative pipelines does. No check of two changes is here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.changes.sql import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column


def change_sequence(*positions: str, prefix: str = "") -> Column:
    """One column that orders changes: positions in the database's log, then the offset.

    A later change of a row has a greater value, and no two records of a partition have equal ones.
    Spark compares the fields of a struct one after the other.

    Args:
        positions: Expressions of SQL, the first one first, e.g. `source.lsn` of PostgreSQL. Texts
            are compared as texts, so `9` would be after `10`: cast them to numbers. Without
            positions the offset alone orders changes, as Kafka keeps a key in one partition.
        prefix: The option `debezium.prefix` of the read.

    Returns:
        A struct. It is null where one of the values is null: AUTO CDC fails then, before it applies
        anything of the micro-batch.

    Raises:
        KafkaConfigError: A position is not a text.
    """
    for each in positions:
        if type(each) is not str or not each.strip():
            raise KafkaConfigError(
                "change_sequence takes expressions of SQL as texts, e.g. 'source.lsn', not "
                f"{each!r}"
            )
    offset = f"{prefix}offset"
    expressions = [*positions, offset if offset.isidentifier() else quoted(offset)]
    is_known = F.lit(True)
    for each in expressions:
        is_known &= F.expr(each).isNotNull()
    return F.when(is_known, struct_of(expressions))


def struct_of(expressions: Sequence[str]) -> Column:
    """The values of expressions of SQL, as a struct whose fields have their names."""
    return F.struct(*(F.expr(each).alias(_field(each, n)) for n, each in enumerate(expressions)))


def _field(expression: str, number: int) -> str:
    """The name of an expression's field of the sequence: `source.lsn` -> `source_lsn`."""
    is_column = re.fullmatch(r"[\w.]+", expression)
    return expression.replace(".", "_") if is_column else f"by_{number}"
