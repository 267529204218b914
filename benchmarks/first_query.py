"""Times the first query of a new Spark session. `benchmarks/read.py` starts this.

    python benchmarks/first_query.py FORMAT SERVERS TOPIC [JARS]

Prints one line of JSON: the seconds of the query, and of session start and query together.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.ceiling import Ceiling
from benchmarks.session import start

# The size of the topic.
CEILING = {"rows": "1000", "partitions": "4", "valueBytes": "100"}


def main(connector: str, servers: str, topic: str, jars: str = "") -> None:
    begun = time.perf_counter()
    spark = start(jars)
    ready = time.perf_counter()
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
    if connector == "ceiling":
        spark.dataSource.register(Ceiling)
        options = CEILING
    reader = spark.read.format(connector).options(**options)
    reader.load().write.format("noop").mode("overwrite").save()
    done = time.perf_counter()
    print(json.dumps({"query": done - ready, "with_session": done - begun}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
