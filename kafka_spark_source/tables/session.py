"""Sessions of the query's own, with settings that keep values and names as they are."""

from __future__ import annotations

from pyspark.sql import SparkSession


def isolated(spark: SparkSession) -> SparkSession:
    """A copy of a session, as Spark makes one for each stream: settings of it stay in it."""
    return secured(SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession()))


def secured(spark: SparkSession) -> SparkSession:
    """The session, which must be the query's own, with the settings."""
    # Whatever another writer made of a table must never cast a value with a loss.
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    # Names from schemas stand in statements: `${env:NAME}` must stay a name.
    spark.conf.set("spark.sql.variable.substitute", "false")
    return spark
