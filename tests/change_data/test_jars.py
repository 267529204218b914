"""The lock file of the jars has all that the tests and the demo need."""

from __future__ import annotations

import json

import pytest

from tests.change_data.jars import ARTIFACTS, LAKES, LOCK_FILE


@pytest.mark.core
def test_every_set_of_jars_is_locked() -> None:
    locked = json.loads(LOCK_FILE.read_text())
    assert [*locked] == [*ARTIFACTS]
    for name, artifacts in ARTIFACTS.items():
        assert [each for each in artifacts if each not in locked[name]] == []
    assert {name for sets in LAKES.values() for name in sets.values()} <= ARTIFACTS.keys()
