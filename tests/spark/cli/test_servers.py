"""Status and stop, when nothing runs."""

import pytest

from kafka_spark_source import cli


@pytest.mark.parametrize("kind", ["broker", "registry"])
def test_status_and_stop_without_servers(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([kind, "status"]) == 3
    assert cli.main([kind, "stop"]) == 0
    assert capsys.readouterr().out == f"no {kind} is running\n" * 2
    assert cli.main([kind, "stop", "mine"]) == 1
    assert capsys.readouterr().err == f"pykafka: no {kind} called mine is running\n"
