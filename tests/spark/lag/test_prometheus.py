"""The text format, read back by an independent parser; the file; the server."""

from __future__ import annotations

import http.client
import logging
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spark_source.lag.prometheus import (
    CONTENT_TYPE,
    Gauge,
    PrometheusServer,
    render,
    write_file,
)
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.spark.lag.prometheus_text import Samples, parse


def test_label_values_are_escaped() -> None:
    gauge = Gauge("lag", "How far behind.", [({"query": 'a\\b"c\nd\\n'}, 1)])
    assert render([gauge]).splitlines()[-1] == r'lag{query="a\\b\"c\nd\\n"} 1'


samples = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["query", "topic", "partition"]), st.text(max_size=8)),
        st.integers(0, 2**64),
    ),
    unique_by=lambda sample: tuple(sorted(sample[0].items())),
    max_size=5,
)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), samples, max_size=3))
def test_rendered_gauges_parse_back(gauges: dict[str, Samples]) -> None:
    text = render(Gauge(name, "A number.", each) for name, each in gauges.items())
    assert parse(text) == gauges


def test_the_file_is_replaced_and_can_be_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "pykafka.prom"
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    for text in ("first\n", "Äpfel\n", "half \ud800\n"):
        write_file(text, path)
        assert path.read_bytes() == text.encode(errors="replace")
    assert sorted(tmp_path.iterdir()) == [ordinary, path]
    assert path.stat().st_mode == ordinary.stat().st_mode


def test_a_reader_of_the_file_sees_one_complete_text(tmp_path: Path) -> None:
    path = tmp_path / "pykafka.prom"
    texts = {letter * 200_000 for letter in "ab"}
    write_file("a" * 200_000, path)
    finished = threading.Event()

    def write() -> None:
        for _ in range(50):
            for text in sorted(texts):
                write_file(text, path)
        finished.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not finished.is_set():
        assert path.read_text() in texts
    writer.join()


def get(port: int, path: str) -> tuple[int, str | None, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()
    finally:
        connection.close()


def test_the_server_serves_the_text_of_the_moment() -> None:
    texts = iter(["lag 1\n", "Äpfel \ud800\n", "lag 3\n"])
    with PrometheusServer(lambda: next(texts), 0) as server:
        assert get(server.port, "/metrics") == (200, CONTENT_TYPE, "lag 1\n")
        assert get(server.port, "/metrics?x=1") == (200, CONTENT_TYPE, "Äpfel ?\n")
        status, _, page = get(server.port, "/")
        assert status == 404
        assert "The metrics are at /metrics" in page
        assert get(server.port, "/metrics")[2] == "lag 3\n"


def test_a_closed_server_is_gone() -> None:
    threads = {*threading.enumerate()}
    server = PrometheusServer(lambda: "", 0)
    (serving,) = {*threading.enumerate()} - threads
    assert repr(server) == f"<PrometheusServer on port {server.port}>"
    server.close()
    with pytest.raises(ConnectionRefusedError):
        get(server.port, "/metrics")
    assert not serving.is_alive()
    # The port is free again.
    PrometheusServer(lambda: "", server.port).close()


def test_a_client_that_disconnects_is_logged_at_debug_only(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with PrometheusServer(lambda: "x" * 50_000_000, 0) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert client.recv(1)
        assert Deadline(20).wait_for(lambda: bool(caplog.records))
        assert len(get(server.port, "/metrics")[2]) == 50_000_000
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    assert capfd.readouterr().err == ""


def test_a_port_that_is_taken_is_refused() -> None:
    with PrometheusServer(lambda: "", 0) as server:
        with pytest.raises(OSError, match="in use"):
            PrometheusServer(lambda: "", server.port)
