"""A session on a Sail server in this process, for the venv that has Sail."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession


def run_sail_session() -> Iterator[SparkSession]:
    """Start a server and a session of the thin client on it, and stop both at the end."""
    from pysail.spark import SparkConnectServer  # noqa: PLC0415 - only one venv has it

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    yield session
    session.stop()
    server.stop()
