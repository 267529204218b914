"""What a killed driver leaves of a table of Delta that it was about to create.

Delta commits the first version of a table by renaming a file. Killed before, it leaves the log's
folder with a temporary file, and refuses to create a table in a folder that is not empty.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pyspark.sql import SparkSession

_REFUSED: Final = re.compile(
    r"\[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION\].*?location \('([^']+)'\) is not empty", re.S
)
_TEMPORARY: Final = re.compile(r"\..*\.tmp")


def removed_leftovers(spark: SparkSession, error: Exception) -> bool:
    """Remove the folder that a refused CREATE TABLE names, if nothing was ever committed in it.

    Returns:
        Whether it was removed. A folder with any other file than temporary ones stays.
    """
    refused = _REFUSED.search(str(error))
    if refused is None:
        return False
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(refused[1])
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    listed = files.listFiles(path, True)
    while listed.hasNext():
        if not _TEMPORARY.fullmatch(listed.next().getPath().getName()):
            return False
    return bool(files.delete(path, True))
