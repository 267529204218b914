"""The same queries through Spark's own Kafka connector and through pykafka, in one session.

    make .venv-spark-4.2.0/.installed
    .venv-spark-4.2.0/bin/python -m pytest tests/conformance

Rows must be equal, and errors of one kind; what differs on purpose stands in tables, each with its
reason. The connector needs its own release of PySpark: under another one nothing here is collected.
"""
