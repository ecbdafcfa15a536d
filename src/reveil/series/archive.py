"""For how many releases the vault keeps who was in which row: no guarantee needs it, the owner's own audits do."""

from __future__ import annotations

from reveil.core.errors import ConfigError

ALL, LAST = "all", "last"


def releases_kept(archive: object) -> int | None:
    """Return of how many releases, the last ones, placements are kept: None for all of them, 0 for none.

    >>> releases_kept("last"), releases_kept(3), releases_kept(True), releases_kept(False)
    (1, 3, None, 0)
    """
    if isinstance(archive, bool):
        return None if archive else 0
    if archive == ALL:
        return None
    if archive == LAST:
        return 1
    if isinstance(archive, int) and archive > 0:
        return archive
    raise ConfigError(
        f'archive must be "{ALL}", "{LAST}", a whole number from 1 up, true or false',
        hint=f'archive = "{LAST}" keeps who was in which row of the last release; archive = 12, of the last twelve.',
    )
