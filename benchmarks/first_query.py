"""How long a fresh Spark session takes for its first query. `benchmarks/read.py` starts this.

    python benchmarks/first_query.py FORMAT SERVERS TOPIC [JARS]

Prints one line of JSON: seconds of the query alone, and together with the session's start.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.session import start


def main(connector: str, servers: str, topic: str, jars: str = "") -> None:
    begun = time.perf_counter()
    spark = start(jars)
    ready = time.perf_counter()
    reader = spark.read.format(connector).option("kafka.bootstrap.servers", servers)
    reader.option("subscribe", topic).load().write.format("noop").mode("overwrite").save()
    done = time.perf_counter()
    print(json.dumps({"query": done - ready, "with_session": done - begun}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
