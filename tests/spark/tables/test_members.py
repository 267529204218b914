"""The members of unions that a table has, beside a schema's."""

from __future__ import annotations

import pytest

from kafka_spark_source.tables.members import MEMBERS, Changed, Members, as_property, merged_members


@pytest.mark.parametrize(
    ("before", "now", "merged"),
    [
        ({}, {}, {}),
        ({}, {"u": ["A", "B"]}, {"u": ["A", "B"]}),
        ({"u": ["A", "B"]}, {"u": ["A", "B", "C"]}, {"u": ["A", "B", "C"]}),
        ({"u": ["A", "B", "C"]}, {"u": ["A", "B"]}, {"u": ["A", "B", "C"]}),
        ({"u": ["int", "A"]}, {"u": ["long", "A", "B"]}, {"u": ["long", "A", "B"]}),
        ({"u": ["A", "B"]}, {"v": ["X", "Y"]}, {"u": ["A", "B"], "v": ["X", "Y"]}),
    ],
)
def test_members_that_a_table_may_have(before: Members, now: Members, merged: Members) -> None:
    assert merged_members(as_property(before), now) == (merged, None)


@pytest.mark.parametrize("now", [["B", "A"], ["A", "C", "B"], ["B", "A", "C"]])
def test_a_member_that_is_another_type(now: list[str]) -> None:
    before = {"u": ["A", "B"], "v": ["X", "Y"]}
    changed = Changed("u", ["A", "B"], now)
    assert merged_members(as_property(before), {"u": now}) == (before, changed)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"u": 1}', "null"])
def test_a_property_that_somebody_has_altered(text: str) -> None:
    assert merged_members({MEMBERS: text}, {"u": ["A"]}) == ({"u": ["A"]}, None)
