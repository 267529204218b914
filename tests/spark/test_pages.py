"""What pages say in SQL and in settings of Spark: Spark's own parser takes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tests.pages.not_run import row_for
from tests.pages.settings import whose
from tests.pages.statements import PAGES, Kind, Statement, statements_of

pytestmark = [pytest.mark.spark, pytest.mark.newest]


def of(kind: Kind) -> list[Statement]:
    return [each for page in PAGES for each in statements_of(page) if each.kind is kind]


@pytest.fixture
def parser(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().sqlParser()


def expect_parsed(parse: Callable[[str], Any], texts: dict[str, str]) -> None:
    wrong = {}
    for name, text in texts.items():
        try:
            parse(text)
        except PySparkException as error:
            wrong[name] = str(error)
    assert texts
    assert wrong == {}


def test_sql(parser: Any) -> None:
    expect_parsed(parser.parsePlan, {str(each): each.text for each in of(Kind.SQL)})
    with pytest.raises(PySparkException):
        parser.parsePlan("INSERT ITNO t SELECT 1")


def test_expressions_of_sql(parser: Any) -> None:
    texts: dict[str, str] = {}
    for each in of(Kind.EXPRESSION):
        text = each.text.removeprefix("WHERE ")
        quoted: list[str] = [text]
        if text.startswith(('"', "[")):
            literal = ast.literal_eval(text)
            quoted = literal if isinstance(literal, list) else [literal]
        texts |= {f"{each} ({part})": part for part in quoted}
    expect_parsed(parser.parseExpression, texts)


def test_columns_of_schemas(spark: SparkSession) -> None:
    """`.schema("id bigint")` of each page."""
    texts = {
        str(each): match[1]
        for each in of(Kind.CALL)
        if (match := re.fullmatch(r'\.schema\("([^"]+)"\)', each.text)) and "..." not in match[1]
    }
    expect_parsed(StructType.fromDDL, texts)


def test_settings_of_spark(spark: SparkSession) -> None:
    """Spark has each setting, and takes the value."""
    jvm = spark._jvm
    assert jvm is not None
    find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
    wrong = []
    for each in of(Kind.SETTING):
        name, _, value = each.text.partition("=")
        if whose(each.text) != "Spark" or row_for(each) or "JavaOptions" in name:
            continue
        entry = find(name)
        if entry is None:
            wrong.append(str(each))
        else:
            entry.valueConverter().apply(value)
    assert wrong == []
