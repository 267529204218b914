"""The lines of a log in errors, and exit codes in words."""

import pytest

from kafka_spark_source.testing.processes.log_tail import how_it_ended, relevant_lines

SHUTDOWN = [f"INFO shutting down {number}" for number in range(40)]


def test_the_end_of_a_log_without_an_error() -> None:
    assert relevant_lines(SHUTDOWN) == SHUTDOWN[-20:]
    assert relevant_lines(SHUTDOWN[:3]) == SHUTDOWN[:3]
    assert relevant_lines([]) == []


def test_an_error_before_a_long_shutdown() -> None:
    trace = [
        "[2026-01-01 00:00:00,000] ERROR Exiting (kafka.Kafka$)",
        "org.apache.KafkaException: no such class",
        "\tat kafka.Kafka.main(Kafka.scala)",
    ]
    shown = relevant_lines(["INFO starting", *trace, *SHUTDOWN])
    assert shown[:3] == trace
    assert shown[9] == "..."
    assert shown[-1] == SHUTDOWN[-1]
    assert len(shown) == 20


def test_an_error_at_the_end_with_the_lines_before_it() -> None:
    shown = relevant_lines([*SHUTDOWN, "java.lang.Exception: no"])
    assert shown == [*SHUTDOWN[-19:], "java.lang.Exception: no"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended with exit code 0"),
        (143, "ended with exit code 143"),
        (-9, "was ended by SIGKILL"),
    ],
)
def test_an_exit_code_in_words(code: int, words: str) -> None:
    assert how_it_ended(code) == words
