"""An engine: the memory of this machine, which counts how often it is opened."""

from reveil.engines.memory import MemoryEngine


class CountingEngine(MemoryEngine):
    """Does what memory does, under a name of its own."""

    name = "counting"
    opened_for = []  # noqa: RUF012  (the rows of each table, for whoever asks)

    @classmethod
    def opened(cls, settings, rows):
        """Note the rows, and work in memory."""
        cls.opened_for.append(rows)
        return cls(settings.shard_rows)
