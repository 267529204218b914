"""The formats that the suite runs for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import pytest

from tests.formats.suite.form import Form
from tests.formats.suite.of_avro import AVRO
from tests.formats.suite.of_json import JSON_DDL, JSON_SCHEMA
from tests.formats.suite.of_protobuf import PROTOBUF

Where: TypeAlias = Callable[[Form], object]
FORMS: Final = (AVRO, JSON_SCHEMA, JSON_DDL, PROTOBUF)


def anywhere(_form: Form) -> bool:
    return True


def each_form(where: Where = anywhere) -> pytest.MarkDecorator:
    """Run a test for each format that has a capability."""
    return pytest.mark.parametrize("form", [*filter(where, FORMS)], ids=str)


each_registered: Final = each_form(where=lambda form: form.kind)
"""Run a test for each format whose schemas registries have."""
