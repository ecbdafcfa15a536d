"""``[engine] kind = "spark"``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.engines.settings import EngineSettings
    from reveil.engines.shards import Engine


class Spark:
    """Works on the machines of a Spark cluster, whatever the size of the table."""

    @classmethod
    def opened(cls, settings: EngineSettings, rows: int) -> Engine:  # noqa: ARG003
        """Return an engine that asks the master of the settings, or the one that ``spark-submit`` names."""
        from reveil.engines.spark.shards import SparkEngine

        return SparkEngine(settings.shard_rows, settings.master)
