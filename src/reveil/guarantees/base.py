"""What a guarantee is: it prepares a release from a snapshot and says what the release promises.

To add one: a file in this folder, a line under ``[project.entry-points."reveil.guarantees"]``, and its cases under
``tests/guarantees``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from reveil.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from reveil.codes import Codes
    from reveil.groupers.base import Grouper
    from reveil.models.base import Model
    from reveil.release import Release
    from reveil.schema import Schema
    from reveil.snapshot import Snapshot


@dataclass(frozen=True)
class Prepared:
    """A release that nobody has seen yet, and what verification needs: whose record each row is."""

    release: Release
    placement: npt.NDArray[np.int32]
    codes: Codes
    model: Model


class Guarantee(ABC):
    """A bound, with the parameters that the config gives it."""

    kind: ClassVar[str]

    @classmethod
    def from_config(cls, table: dict[str, Any]) -> Self:
        """Build from the ``[guarantee]`` table of a config, without its ``kind``."""
        known = [f.name for f in fields(cls)]  # type: ignore[arg-type]  # every guarantee is a dataclass
        unknown = [key for key in table if key not in known]
        if unknown:
            raise ConfigError(
                f"the guarantee {cls.kind!r} has no setting {unknown[0]!r}", hint=f"It knows: {', '.join(known)}."
            )
        return cls(**table)

    @abstractmethod
    def check(self, schema: Schema, method: Grouper) -> None:
        """Refuse, before any data is read, what cannot work."""

    @abstractmethod
    def model_for(self, schema: Schema) -> Model:
        """Return the model that every group of every release of this guarantee satisfies."""

    @abstractmethod
    def check_promise(self, manifest: Mapping[str, Any], schema: Schema, records: int) -> None:
        """Refuse a manifest that does not promise what these settings ask for, of a snapshot of so many records."""

    @abstractmethod
    def prepare(self, snapshot: Snapshot, method: Grouper, rng: np.random.Generator, *, series: str | None) -> Prepared:
        """Group, recode and describe; nothing is written."""
