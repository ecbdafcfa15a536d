"""Jobs of Spark: asked for, watched, and their answers opened."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from reveil.engines.spark.failures import EngineError, in_our_words
from reveil.engines.spark.session import local_folder, open_session, quiet
from reveil.engines.spark.steps import PIECES, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from reveil.engines.disk import Source
    from reveil.engines.spark.steps import Mapping, Meeting

_EACH = 4  # tasks for each core at most: one that is slow, or is lost, does not hold up the others for long
_PAUSE = 1.0  # seconds
_group = count()


class Jobs:
    """What a Spark session is asked to do."""

    def __init__(self, master: str | None, patience: float) -> None:
        self._given, self._ours = open_session(master)
        self.patience = patience
        self._session = self._given.newSession()  # with settings of its own
        self._session.conf.set("spark.sql.adaptive.enabled", "false")  # it looks at sizes, and adds jobs of its own

    def _tasks(self, shards: int) -> int:
        """Return into how many tasks work on shards is cut; each costs a tenth of a second."""
        return max(1, min(shards, _EACH * int(self._given.sparkContext.defaultParallelism)))

    def close(self) -> None:
        """Stop what was started here."""
        if self._ours:
            with quiet():
                self._given.stop()

    def mapped(self, step: Mapping) -> DataFrame:
        """Ask for the pieces that come of some sources."""
        many = len(step.sources)

        def run(batches):  # type: ignore[no-untyped-def]  # the types are pyarrow's
            return step(batches)

        with quiet():
            return self._session.range(0, many, 1, self._tasks(many)).mapInArrow(run, PIECES)

    def met(self, dealt: Sequence[DataFrame], step: Meeting, shards: int) -> DataFrame:
        """Ask for what comes of the pieces of some shards that are sent to one place."""

        def run(table):  # type: ignore[no-untyped-def]  # the types are pyarrow's
            return step(table)

        together = dealt[0] if len(dealt) == 1 else dealt[0].unionAll(dealt[1])
        with quiet():
            return together.repartition(self._tasks(shards), "place").groupBy("place").applyInArrow(run, PIECES)

    def answers(self, asked: DataFrame) -> list[Source]:
        """Do it, and return the answers; an error that is one of them is raised."""
        with self._watched():
            # Sorted here: before Spark sorts, it does all the work once to see what there is, and then again.
            table = asked.select("place", "piece").toArrow().sort_by("place")
        return [opened(content.as_buffer().to_pybytes()) for content in table["piece"]]

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Give up where nobody works for too long; say in our words why Spark gave up."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        context, group, over, alone = self._given.sparkContext, f"reveil-{next(_group)}", threading.Event(), False

        def watch() -> None:
            nonlocal alone
            tracker, idle = context.statusTracker(), 0.0
            while not over.wait(_PAUSE):
                try:
                    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                    idle = 0.0 if any(stage and stage.numActiveTasks for stage in stages) else idle + _PAUSE
                    if idle > self.patience:
                        alone = True
                        context.cancelJobGroup(group)
                        return
                except Exception:  # noqa: BLE001  (whatever it is, the job itself says it)
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        context.setJobGroup(group, "reveil")
        watcher.start()
        try:
            yield
        except (PySparkException, Py4JError, OSError, EOFError) as error:
            if alone:
                raise self._nobody() from None
            raise in_our_words(str(error), local_folder().folder.parent) from None
        finally:
            over.set()
            watcher.join()

    def _nobody(self) -> EngineError:
        master = self._given.sparkContext.master
        return EngineError(
            f"no worker of {master} took the work within {self.patience:.0f} seconds",
            hint="Start workers for it (sbin/start-worker.sh of Spark), or free some cores and memory.",
        )
