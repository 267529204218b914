"""What is shown of a log; the rest of the launcher is tried with real brokers."""

from kafka_spark_source.testing.launcher import telling_lines

FAREWELL = [f"INFO shutting down {number}" for number in range(40)]


def test_a_log_without_an_error_shows_its_end() -> None:
    assert telling_lines(FAREWELL) == FAREWELL[-20:]
    assert telling_lines(FAREWELL[:3]) == FAREWELL[:3]
    assert telling_lines([]) == []


def test_an_error_before_a_long_farewell_is_shown_too() -> None:
    trace = [
        "[2026-01-01 00:00:00,000] ERROR Exiting (kafka.Kafka$)",
        "org.apache.KafkaException: no such class",
        "\tat kafka.Kafka.main(Kafka.scala)",
    ]
    shown = telling_lines(["INFO starting", *trace, *FAREWELL])
    assert shown[:3] == trace
    assert shown[9] == "..."
    assert shown[-1] == FAREWELL[-1]
    assert len(shown) == 20


def test_an_error_at_the_end_is_shown_with_what_came_before() -> None:
    shown = telling_lines([*FAREWELL, "java.lang.Exception: no"])
    assert shown == [*FAREWELL[-19:], "java.lang.Exception: no"]
