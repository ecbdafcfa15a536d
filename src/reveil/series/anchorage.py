"""Before a vault tells anything: does it know what its anchor knows?"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reveil.core.errors import RefusedError
from reveil.series.backups import refuse_if_begun_before, refuse_if_behind
from reveil.vault.anchor import Anchor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reveil.vault import Vault
    from reveil.vault.anchor import Standing

AGREES = "the vault knows all that its anchor {} knows, by another way than before: from now on they agree again"
MISSING = (
    "the anchor {} was not there, and is written anew: nothing outside the vault showed whether this is the latest "
    "one. Look at reveil history"
)
SHOWN = 12


def may_publish(vault: Vault, *folders: Path | None, new_series: bool = False, dry_run: bool = False) -> str | None:
    """Refuse to publish from a vault that lacks what its anchor knows; return what the owner should know, if anything.

    Files in the folders name what is missing better than the anchor can, and show it where the anchor is gone. Unless
    nothing is published, the anchor follows from now on.
    """
    vault.refuse_if_moved()
    note = _may_publish(vault, folders, new_series=new_series, dry_run=dry_run)
    if not dry_run:
        vault.follow()
    return note


def _may_publish(vault: Vault, folders: tuple[Path | None, ...], *, new_series: bool, dry_run: bool) -> str | None:
    standing = vault.standing()
    if standing.anchor is None:
        if not (vault.head() and vault.anchor is not None and vault.was_anchored()):
            return None
        refuse_if_behind(vault, vault.releases(), *folders)
        return MISSING.format(vault.anchor)
    if standing.foreign and new_series:
        if dry_run:
            return None
        return f"the anchor of the series that stood here before is kept as {_aside(vault, standing)}"
    if not standing.behind:
        return AGREES.format(vault.anchor) if standing.joins else None
    if not standing.foreign:
        refuse_if_behind(vault, vault.releases(), *folders)
    raise RefusedError(
        f"{vault.anchor}: the anchor knows of {lacking(standing)} that this vault does not know: "
        + ("the vault is a new one" if standing.foreign else "it is an old one, or a copy that went on by itself"),
        hint=_repair(standing),
    )


def _repair(standing: Standing) -> str:
    ways = ["Restore the latest backup of the vault."]
    if standing.missing:
        ways.append("If there is none, take what is missing as told with reveil adopt SNAPSHOT RELEASE, in order.")
    if standing.erasures:
        ways.append("Repeat erasures with reveil forget PERSON.")
    if standing.foreign:
        ways.append("If this is another series about other people, name another anchor, or say so with --new-series.")
    return " ".join(ways)


@contextmanager
def repairing(vault: Vault) -> Iterator[list[str]]:
    """Change a vault that may be behind its anchor: the anchor follows once the vault knows everything.

    What to say of it comes into the list. Nothing but publishing needs an anchor that agrees: adopting and erasing are
    how a vault gets there.
    """
    before = vault.standing()
    # An anchor that is gone is written anew by the next release, which looks at the published files first.
    if not before.behind and not (before.anchor is None and vault.was_anchored()):
        vault.follow()
    notes: list[str] = []
    yield notes
    if not before.behind:
        return
    now = vault.standing()
    if now.behind:
        notes.append(f"the anchor {vault.anchor} knows of {lacking(now)} that this vault does not know yet")
        return
    vault.follow()
    notes.append(AGREES.format(vault.anchor))


@contextmanager
def taken_away_if_refused(vault: Vault) -> Iterator[None]:
    """Leave no vault behind that was made for a release which then was not taken."""
    try:
        yield
    except BaseException:
        if not vault.head():
            vault.discard()
        raise


def may_begin(anchor: Path | None, name: str | None, columns: Iterable[str], *folders: Path | None) -> None:
    """Refuse to begin a series that was begun before: by the anchor of its vault, or beside releases of its name."""
    refuse_if_begun_before(name, columns, *folders)
    known = None if anchor is None else Anchor.read(anchor)
    if known is not None and known.releases:
        raise RefusedError(
            f"there is no vault yet, and its anchor {anchor} knows of {len(known.releases):,} releases",
            hint="Put the vault back where the config says. If it is lost, take what was published as told with "
            "reveil adopt SNAPSHOT RELEASE, in order. If this is another series about other people, name another "
            "anchor, or say so with --new-series.",
        )


def lacking(standing: Standing) -> str:
    """Say what is missing."""
    numbers = [str(number) for number in standing.missing[:SHOWN]]
    more = f" and {len(standing.missing) - SHOWN:,} more" if len(standing.missing) > SHOWN else ""
    parts = [f"release{'s' if len(standing.missing) > 1 else ''} {', '.join(numbers)}{more}"] if numbers else []
    many = standing.erasures
    parts += [f"{many:,} erasure{'s' if many > 1 else ''}"] if many else []
    return " and ".join(parts)


def _aside(vault: Vault, standing: Standing) -> Path | None:
    """Put the anchor of another series away: should its vault be found, it is needed again."""
    if vault.anchor is None or standing.anchor is None:
        return None
    kept = vault.anchor.with_name(f"{vault.anchor.name}.{standing.anchor.series}")
    vault.anchor.replace(kept)
    return kept
