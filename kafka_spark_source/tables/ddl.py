"""Types and paths of columns as SQL spells them, without a session of Spark. Pure.

PySpark's own `toDDL` asks the JVM, and `simpleString` does not quote names.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as T

from kafka_spark_source.changes.sql import quoted


def type_text(type_: T.DataType) -> str:
    """A type, with the names of its fields quoted."""
    match type_:
        case T.StructType():
            fields = ", ".join(f"{quoted(each.name)}: {type_text(each.dataType)}" for each in type_)
            return f"struct<{fields}>"
        case T.ArrayType():
            return f"array<{type_text(type_.elementType)}>"
        case T.MapType():
            return f"map<{type_text(type_.keyType)}, {type_text(type_.valueType)}>"
    return type_.simpleString()


def path_text(path: Iterable[str]) -> str:
    """A path of names, each quoted."""
    return ".".join(map(quoted, path))


def columns_text(columns: T.StructType) -> str:
    """Columns for CREATE TABLE; each can be null, because a record may lack its value."""
    return ", ".join(f"{quoted(each.name)} {type_text(each.dataType)}" for each in columns)
