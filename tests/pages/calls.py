"""`.mode("append")` in a text: a method that an object of Spark has, which takes the arguments."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

_OWNERS: Final[tuple[type[Any], ...]] = (
    *(DataFrameReader, DataStreamReader, DataFrameWriter, DataStreamWriter),
    *(DataFrame, StreamingQuery, SparkSession.Builder),
)


def mistake_in(call: str) -> str | None:
    """What is wrong with a call, or with one of a chain of calls."""
    tree = ast.parse(call.removeprefix("."), mode="eval")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return next((each for each in map(_mistake, calls) if each), None)


def _mistake(call: ast.Call) -> str | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    found = [*_named(name)]
    if not found:
        return f"nothing has {name}"
    return None if any(_takes(each, call) for each in found) else f"{name} takes other arguments"


def _named(name: str) -> Iterator[Callable[..., Any]]:
    for owner in _OWNERS:
        method = getattr(owner, name, None)
        if callable(method):
            yield method


def _takes(function: Callable[..., Any], call: ast.Call) -> bool:
    if any(each.arg is None for each in call.keywords):
        return True  # **options
    named = {str(each.arg): None for each in call.keywords}
    try:
        inspect.signature(function).bind(None, *call.args, **named)
    except TypeError:
        return False
    return True
