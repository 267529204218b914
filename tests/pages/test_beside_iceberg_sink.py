"""The page docs/topics-to-tables.md lists each type that differs from the one by Iceberg's sink."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.change_data.append_records import (
    AVRO_DIFFERENCES,
    CLOCK_DIFFERENCES,
    JSON_DIFFERENCES,
)

PAGE: Final = Path(__file__).parents[2] / "docs" / "topics-to-tables.md"
ROW: Final = re.compile(
    r"^\| (Avro|JSON with schemas): `(.+?)` \| `(.+?)` \| `(.+?)` \| .+ \|$", re.M
)


def test_the_page_has_exactly_the_differences_that_the_test_has() -> None:
    listed = [
        (kind, each.about, each.ours, each.sinks)
        for kind, differences in (
            ("Avro", {**AVRO_DIFFERENCES, **CLOCK_DIFFERENCES}),
            ("JSON with schemas", JSON_DIFFERENCES),
        )
        for each in differences.values()
    ]
    assert sorted(ROW.findall(PAGE.read_text(encoding="utf-8"))) == sorted(listed)
