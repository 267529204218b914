"""Drivers of streams in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stream_driver import Driver


def test_a_query_that_spark_had_no_time_to_start_is_started_again(tmp_path: Path) -> None:
    with Driver(tmp_path, "pykafka", {}, "starts_at_the_second_try") as driver:
        first = driver.pid
        driver.wait_for_start()
        assert driver.pid != first
        driver.expect_running()


def test_any_other_end_fails(tmp_path: Path) -> None:
    with (
        Driver(tmp_path, "pykafka", {}, "no_such_job") as driver,
        pytest.raises(AssertionError, match="No module named"),
    ):
        driver.wait_for_start()
