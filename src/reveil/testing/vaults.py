"""What every store of a vault must satisfy, whatever it keeps the relations in.

A store's own test is a line: ``check_vault(lambda folder: MyStore.open(f"mine://{folder}", create=True))``.
"""

from __future__ import annotations

import struct
import tempfile
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reveil.core.errors import BusyError, PendingError, RefusedError, VaultError
from reveil.testing.plain_vault import PlainVault, Table, known, tell
from reveil.vault import Vault, chain
from reveil.vault.migrations import MIGRATIONS, migrate
from reveil.vault.protocol import ABANDONED, ADOPTED, CONFIRMED, PENDING
from reveil.vault.settings import ERASING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.vault.changes import Change
    from reveil.vault.store import Store

OpenStore: TypeAlias = Callable[[Path], "Store"]

SECRET = "the keeper of the northernmost lighthouse"  # noqa: S105 -- a value that must not be shown
FIRST: Table = {
    "p1": {"job": SECRET, "disease": "cataract"},
    "p2": {"job": "nurse", "disease": "flu"},
    "p3": {"job": None, "disease": "flu"},
}
SECOND: Table = {"p2": {"job": "smith", "disease": "gout"}, "p4": {"job": "nurse", "disease": "flu"}}
EVERYBODY = [f"p{n}" for n in range(1, 7)]


def check_vault(open_store: OpenStore, *, examples: int = 15) -> None:
    """Hold a store to its promises; ``open_store`` opens the store that belongs to a folder, or makes it there.

    The folder does not exist at first, and may be used or not. Opened again, it is the same store.
    """
    for check in (
        _begins_once,
        _releases_have_states,
        _of_two_publishers_one_is_first,
        _nothing_is_left_of_what_failed,
        _errors_are_in_our_words,
        _forgets,
        _finishes_an_erasure,
        _migrates_once,
        _is_anchored,
        _keeps_copies,
        _is_taken_away,
    ):
        with tempfile.TemporaryDirectory() as folder:
            check(open_store, Path(folder) / "vault")
    _agrees_with_plain_python(open_store, examples)


@contextmanager
def _opened(open_store: OpenStore, folder: Path, anchor: Path | None = None) -> Iterator[Vault]:
    with Vault(open_store(folder), anchor=anchor) as vault:
        yield vault


def _publish(vault: Vault, table: Table) -> None:
    change = tell(vault, table)
    vault.prepare(change)
    vault.confirm(change.row.release)


def _begins_once(open_store: OpenStore, folder: Path) -> None:
    with _opened(open_store, folder) as vault:
        assert vault.head() == 0
        assert vault.releases() == []
        identity, check = vault.series_id, vault.key.check()
        assert len(identity) == 16
        vault.keep_setting("note", {"b": [1, None, "é"]})
        place = vault.store.place
    vault.close()
    vault.close()
    _raises(ValueError, vault.head)
    with _opened(open_store, folder) as vault:
        assert (vault.series_id, vault.key.check(), vault.store.place) == (identity, check, place)
        assert vault.setting("note") == {"b": [1, None, "é"]}
        with vault.store.transaction(releases=None):
            vault.store.check()


def _releases_have_states(open_store: OpenStore, folder: Path) -> None:
    with _opened(open_store, folder) as vault:
        vault.prepare(tell(vault, FIRST))
    with _opened(open_store, folder) as vault:
        assert [row.state for row in vault.releases()] == [PENDING], "what is prepared is remembered"
        _raises(PendingError, lambda: vault.prepare(tell(vault, SECOND)))
        _raises(PendingError, lambda: vault.forget(1, 2))
        vault.confirm(1, path="out.csv", facts={"rows": 3})
        _raises(RefusedError, lambda: vault.abandon(1))
        vault.prepare(tell(vault, SECOND))
        vault.abandon(2)
        vault.prepare(tell(vault, FIRST, state=ADOPTED))
        _raises(RefusedError, lambda: vault.confirm(3))
        _raises(BusyError, lambda: vault.prepare(tell(vault, FIRST, release=3)))
        _raises(BusyError, lambda: vault.prepare(tell(vault, FIRST, release=5)))
    with _opened(open_store, folder) as vault:
        rows = vault.releases()
        assert [row.state for row in rows] == [CONFIRMED, ABANDONED, ADOPTED]
        assert (rows[0].path, rows[0].facts, rows[1].path) == ("out.csv", {"rows": 3}, None)
        assert rows[2] == replace(tell(vault, FIRST, state=ADOPTED, release=3).row, facts={})
        chain.check(vault.store.connection, vault.key)


def _of_two_publishers_one_is_first(open_store: OpenStore, folder: Path) -> None:
    """The second one is refused when it opens the store, or when it prepares what the first one has prepared."""
    with _opened(open_store, folder) as one:
        try:
            two = Vault(open_store(folder))
        except BusyError:
            _publish(one, FIRST)
        else:
            with two:
                first, second = tell(one, FIRST), tell(two, SECOND)
                outcomes: list[str] = []
                barrier = threading.Barrier(2)

                def run(vault: Vault, change: Change) -> None:
                    barrier.wait()
                    try:
                        vault.prepare(change)
                        outcomes.append("first")
                    except BusyError:
                        outcomes.append("refused")

                threads = [threading.Thread(target=run, args=pair) for pair in ((one, first), (two, second))]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert sorted(outcomes) == ["first", "refused"]
                assert one.releases() == two.releases()
                one.abandon(1)
                _raises(BusyError, lambda: two.forget(1, 2))
        assert one.head() == 1
    with _opened(open_store, folder) as vault:
        assert len(vault.releases()) == 1


def _nothing_is_left_of_what_failed(open_store: OpenStore, folder: Path) -> None:
    with _opened(open_store, folder) as vault:
        _publish(vault, FIRST)
        before, identity = known(vault, EVERYBODY), chain.end(vault.store.connection)
        good = tell(vault, {**SECOND, "p5": {"job": "a new job", "disease": "a new disease"}})
        # The row is the last thing that is written: everything else is there already when this fails.
        bad = replace(good, row=replace(good.row, request={"not JSON": object()}))
        _raises(TypeError, lambda: vault.prepare(bad))
        assert known(vault, EVERYBODY) == before
        _raises(KeyboardInterrupt, lambda: _interrupted(vault))
        assert known(vault, EVERYBODY) == before
    with _opened(open_store, folder) as vault:
        assert known(vault, EVERYBODY) == before
        assert chain.end(vault.store.connection) == identity
        vault.prepare(good)
        assert vault.head() == 2


def _interrupted(vault: Vault) -> None:
    with vault.store.transaction() as connection:
        connection.execute("DELETE FROM persons")
        connection.execute("UPDATE settings SET value = '7' WHERE key = 'head'")
        raise KeyboardInterrupt


def _errors_are_in_our_words(open_store: OpenStore, folder: Path) -> None:
    with _opened(open_store, folder) as vault:
        _publish(vault, FIRST)
        sql = "SELECT CAST(value AS INTEGER) FROM dictionary"

        def read() -> None:
            with vault.store.reading() as connection:
                connection.execute(sql).fetchall()

        def change() -> None:
            with vault.store.transaction("settings") as connection:
                connection.execute(sql).fetchall()

        for act in (read, change):
            error = _raises(VaultError, act)
            assert isinstance(error, VaultError)
            assert error.hint, "an error names a remedy"
            assert error.file == vault.store.place
            shown = f"{error} {error.hint}"
            for text in (SECRET, "INTEGER", "Conversion", "DuckDB"):
                assert text not in shown, "another library's words quote values"
            assert error.__cause__ is None
            assert error.__suppress_context__
        assert vault.head() == 1


def _forgets(open_store: OpenStore, folder: Path) -> None:
    with _opened(open_store, folder) as vault:
        _publish(vault, FIRST)
        numbers = _pseudonym(vault, "p1")
        assert vault.forget(*numbers)
        assert not vault.forget(*numbers)
        assert _bytes(folder, SECRET, *numbers) == []
        assert vault.forget(*_pseudonym(vault, "p2"), tombstone=True)
        assert not vault.forget(*_pseudonym(vault, "p2"), tombstone=True)
        assert chain.erasures(vault.store.connection) == 2
        assert not vault.forget(1, 2)
        twin = _twin([(CONFIRMED, FIRST)])
        twin.forget("p1", tombstone=False)
        twin.forget("p2", tombstone=True)
        assert known(vault, EVERYBODY) == twin.known(EVERYBODY)
    with _opened(open_store, folder) as vault:
        assert known(vault, EVERYBODY) == twin.known(EVERYBODY)
        assert vault.setting(ERASING) is None
        _publish(vault, FIRST)  # who was erased is somebody new, and a tombstone is who they were
        twin.tell(FIRST, CONFIRMED)
        assert known(vault, EVERYBODY) == twin.known(EVERYBODY)


def _finishes_an_erasure(open_store: OpenStore, folder: Path) -> None:
    class StoppedError(Exception):
        """The process ends here."""

    def stop() -> None:
        raise StoppedError

    with _opened(open_store, folder) as vault:
        _publish(vault, FIRST)
        numbers = _pseudonym(vault, "p1")
        vault.store.erase = stop  # type: ignore[method-assign]
        _raises(StoppedError, lambda: vault.forget(*numbers))
    with _opened(open_store, folder) as vault:
        assert vault.setting(ERASING) is None
        twin = _twin([(CONFIRMED, FIRST)])
        twin.forget("p1", tombstone=False)
        assert known(vault, EVERYBODY) == twin.known(EVERYBODY)
        assert _bytes(folder, SECRET, *numbers) == []
        _publish(vault, SECOND)


def _migrates_once(open_store: OpenStore, folder: Path) -> None:
    def versions(vault: Vault) -> list[tuple[object, ...]]:
        with vault.store.reading() as connection:
            return connection.execute("SELECT * FROM migrations ORDER BY version").fetchall()

    with _opened(open_store, folder) as vault:
        first = versions(vault)
        assert [row[0] for row in first] == [migration.version for migration in MIGRATIONS]
        _publish(vault, FIRST)
        migrate(vault.store.connection)
        assert versions(vault) == first
    with _opened(open_store, folder) as vault:
        assert versions(vault) == first


def _is_anchored(open_store: OpenStore, folder: Path) -> None:
    anchor = folder.parent / "series.anchor"
    with _opened(open_store, folder, anchor) as vault:
        assert vault.standing().anchor is None
        vault.follow()
        _publish(vault, FIRST)
        _publish(vault, SECOND)
        assert vault.standing().contained
        assert vault.forget(*_pseudonym(vault, "p1"))
        assert vault.standing().contained
        assert vault.was_anchored()
    with _opened(open_store, folder, anchor) as vault:
        standing = vault.standing()
        assert standing.contained
        assert standing.anchor is not None
        assert (len(standing.anchor.releases), standing.anchor.erasures) == (2, 1)
    with _opened(open_store, folder.parent / "another", anchor) as vault:
        standing = vault.standing()
        assert standing.foreign
        assert standing.missing == (1, 2)
        _raises(ValueError, vault.follow)


def _keeps_copies(open_store: OpenStore, folder: Path) -> None:
    with _opened(open_store, folder) as vault:
        paths = {(n, suffix): vault.drafts.path(n, suffix) for n in (1, 2) for suffix in (".csv", ".parquet")}
        with vault.drafts.private():
            for path in paths.values():
                path.write_text("x")
        assert all(path.stat().st_mode & 0o077 == 0 for path in paths.values()), "for their owner only"
        vault.drafts.remove(keep=2)
    with _opened(open_store, folder) as vault:
        assert [n for n, path in paths.items() if path.exists()] == [(2, ".csv"), (2, ".parquet")]
        vault.drafts.remove()
        assert not any(path.exists() for path in paths.values())


def _is_taken_away(open_store: OpenStore, folder: Path) -> None:
    vault = Vault(open_store(folder))
    identity = vault.series_id
    vault.discard()
    vault.close()
    with _opened(open_store, folder) as vault:
        assert vault.series_id != identity, "there is nothing left of it"
        vault.prepare(tell(vault, FIRST))
        _raises(ValueError, vault.discard)


def _agrees_with_plain_python(open_store: OpenStore, examples: int) -> None:
    rows = st.fixed_dictionaries(
        {"disease": st.sampled_from(["flu", "gout", None])}, optional={"job": st.sampled_from(["smith", "nurse", None])}
    )
    columns = st.sampled_from([("disease",), ("disease", "job"), ("disease", "job", "ward")])
    tables = st.tuples(columns, st.dictionaries(st.sampled_from(EVERYBODY), rows, min_size=1))
    steps = st.one_of(
        st.tuples(st.sampled_from([CONFIRMED, ABANDONED, ADOPTED]), tables),
        st.tuples(st.sampled_from(["forget", "bury"]), st.sampled_from(EVERYBODY)),
        st.tuples(st.just("reopen"), st.none()),
    )

    @settings(deadline=None, max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.lists(steps, min_size=1, max_size=6))
    def agree(acts: list[tuple[str, object]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place, twin = Path(folder) / "vault", PlainVault()
            vault = Vault(open_store(place))
            try:
                for act, about in acts:
                    vault = _act(vault, twin, act, about, open_store, place)
                    assert known(vault, EVERYBODY) == twin.known(EVERYBODY)
            finally:
                vault.close()

    agree()


def _act(vault: Vault, twin: PlainVault, act: str, about: object, open_store: OpenStore, place: Path) -> Vault:
    if act == "reopen":
        vault.close()
        return Vault(open_store(place))
    if isinstance(about, str):
        tombstone = act == "bury"
        assert vault.forget(*_pseudonym(vault, about), tombstone=tombstone) == twin.forget(about, tombstone=tombstone)
        return vault
    assert isinstance(about, tuple)
    columns, given_rows = about
    table = {person: {name: row.get(name) for name in columns} for person, row in given_rows.items()}
    change = tell(vault, table, state=ADOPTED if act == ADOPTED else PENDING)
    vault.prepare(change)
    if act == CONFIRMED:
        vault.confirm(change.row.release)
    if act == ABANDONED:
        vault.abandon(change.row.release)
    twin.tell(table, act)
    return vault


def _twin(releases: list[tuple[str, Table]]) -> PlainVault:
    twin = PlainVault()
    for state, table in releases:
        twin.tell(table, state)
    return twin


def _pseudonym(vault: Vault, person: str) -> tuple[int, int]:
    high, low = vault.key.pseudonyms(pl.Series([person]))
    return int(high[0]), int(low[0])


def _bytes(folder: Path, *wanted: str | int) -> list[str | int]:
    """Return which of these texts and numbers are in the bytes of a folder's files."""
    content = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    return [w for w in wanted if (struct.pack("<q", w) if isinstance(w, int) else w.encode()) in content]


def _raises(kind: type[BaseException], act: Callable[[], object]) -> BaseException:
    """Return the error that an act ends with, which must be of a kind."""
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")
