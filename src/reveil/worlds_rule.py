"""Is a release consistent with every world? The rule of possible worlds, checked from the published bytes.

The publisher says which worlds it drew and whom each row covers in each of them; nothing of that is taken for granted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.admitted import admitted_codes
from reveil.errors import VerificationError

if TYPE_CHECKING:
    from reveil.codes import Codes
    from reveil.release import Release
    from reveil.snapshot import Snapshot
    from reveil.statistics import CodeArray

_REPORT = "This release is not safe and was not published. Please report it."


@dataclass(frozen=True)
class Witness:
    """What makes a release consistent with worlds.

    In world i the person of record r has what the record ``sources[i, r]`` has in the table, and the published row n
    is that of the record ``rows[i, n]``. ``values`` is the sensitive value of each record, as a code.
    """

    sources: npt.NDArray[np.integer] = field(repr=False)
    rows: npt.NDArray[np.integer] = field(repr=False)
    values: CodeArray = field(repr=False)


def check_worlds(release: Release, snapshot: Snapshot, codes: Codes, witness: Witness, l: int) -> None:
    """Raise unless there are l worlds, one of them the table, that give everybody different values and fit the release.

    A world fits if its persons and the published rows can be matched one to one, so that each person is inside the box
    of their row and has, in that world, the row's values: the witness is such a matching, and is checked.
    """
    n = codes.n
    everybody = np.arange(n)
    if witness.sources.shape != (l, n) or witness.rows.shape != (l, len(release.classes)):
        raise VerificationError(f"there are not {l} worlds of {n:,} persons and as many rows", hint=_REPORT)
    for what in (witness.sources, witness.rows):
        if what.shape[1] != n or (np.sort(what, axis=1) != everybody).any():
            raise VerificationError("a world gives something to nobody or to two persons", hint=_REPORT)
    if not (witness.sources == everybody).all(axis=1).any():
        raise VerificationError("none of the worlds is the table", hint=_REPORT)
    told = np.sort(witness.values[witness.sources], axis=0)
    same = (told[1:] == told[:-1]).any(axis=0)
    if same.any():
        raise VerificationError(f"{int(same.sum()):,} persons have a value in two of the worlds", hint=_REPORT)
    for attribute in codes.quasi:
        cells = release.cells[attribute.name]
        admitted, own = admitted_codes(cells, attribute), cells.index[release.classes]
        if not all(admitted.contains(own, attribute.codes[rows]).all() for rows in witness.rows):
            raise VerificationError(
                f"a row is outside its box in column {attribute.name!r} in one of the worlds",
                column=attribute.name,
                hint=_REPORT,
            )
    for name in release.values.columns:
        published, raw = release.values[name], snapshot.frame[name]
        for sources, rows in zip(witness.sources, witness.rows, strict=True):
            if not published.equals(raw.gather(sources[rows]), null_equal=True):
                raise VerificationError(
                    f"column {name!r} has another value in one of the worlds", column=name, hint=_REPORT
                )
