from __future__ import annotations

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.options.table import OPTIONS, Option, Table


def test_names_differ_in_more_than_case() -> None:
    keys = [option.key for option in OPTIONS]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_row_can_stand_in_a_manual(option: Option[object]) -> None:
    assert option.uses
    assert option.doc.endswith(".")
    assert "\n" not in option.doc
    if option.default is not None:
        option.value_in({})


def test_a_value_given_goes_before_the_default() -> None:
    assert Table.FAIL_ON_DATA_LOSS.value_in({}) is True
    assert Table.FAIL_ON_DATA_LOSS.value_in({"failondataloss": " FALSE "}) is False


@pytest.mark.parametrize("text", ["", "1", "yes", "truee"])
def test_booleans_are_true_or_false(text: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        Table.INCLUDE_HEADERS.value_in({"includeheaders": text})
    assert str(caught.value) == f"Option 'includeHeaders' must be true or false, got '{text}'."
