"""The documented path of `PrometheusServer`."""

from kafka_spark_source.lag.prometheus import PrometheusServer

__all__ = ["PrometheusServer"]
