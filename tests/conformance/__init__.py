"""The same queries through Spark's own Kafka connector and through pykafka, in one session.

    make .venv-spark-4.2.0/.installed
    .venv-spark-4.2.0/bin/python -m pytest tests/conformance

Rows must be equal, and errors of the same kind. Tables list the intended differences with their
reasons. The connector needs one release of PySpark: with another one nothing here is collected.
"""
