"""A job whose first try ends as a query does that Spark had no time to start.

python -m tests.jobs.starts_at_the_second_try CONNECTOR FOLDER OPTIONS
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.jobs.stream_to_files import STARTED


def main(_connector: str, folder: str, _options: str) -> None:
    tried = Path(folder, "tried")
    if not tried.exists():
        tried.touch()
        sys.exit("terminated with exception: Python worker failed to connect back.")
    print(STARTED, flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
