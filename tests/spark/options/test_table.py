from __future__ import annotations

import pytest

from kafka_protocol.options.option import Option
from kafka_spark_source.options.table import OPTIONS, Table


def test_names_differ_in_more_than_case() -> None:
    keys = [option.key for option in OPTIONS]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_option_is_documented(option: Option[object]) -> None:
    assert option.uses
    assert option.doc.endswith(".")
    assert "\n" not in option.doc
    if option.default is not None:
        option.value_in({})


def test_a_given_value_overrides_the_default() -> None:
    assert Table.FAIL_ON_DATA_LOSS.value_in({}) is True
    assert Table.FAIL_ON_DATA_LOSS.value_in({"failondataloss": " FALSE "}) is False
