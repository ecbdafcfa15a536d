"""A vault on a real PostgreSQL server: the contract, two publishers, kills, what an administrator sees, roles."""

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import BusyError, RefusedError, VaultError
from reveil.testing import check_vault, hospital
from reveil.vault import Vault
from reveil.vault.address import place_of
from reveil.vault.copying import copy_vault
from reveil.vault.sealed import postgresql, relations
from reveil.vault.sealed.bucket_keys import BUCKETS, COMMONS
from reveil.vault.sealed.failures import failure
from reveil.vault.sealed.postgresql import PostgreSQL, initialise
from tests.cli.run import reveil
from tests.vault import servers
from tests.vault.cases import change_of, pseudonym
from tests.vault.test_sealed import ROWS, TOLD, publish

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(servers.reason() is not None, reason=str(servers.reason())),
]
NUMBERS = count()


@pytest.fixture(scope="module")
def server():
    with servers.running() as found:
        yield found


@pytest.fixture(autouse=True)
def _calm(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setattr(postgresql, "PATIENCE", 0.3)


@pytest.fixture
def address(server, tmp_path):
    return server.address(f"s{next(NUMBERS)}", keys=tmp_path / "v.keys")


def sql(server, text, user=servers.OWNER, **more):
    import psycopg

    with psycopg.connect(f"postgresql://{user}@/postgres?host={server.folder}", autocommit=True, **more) as connection:
        cursor = connection.execute(text)
        return cursor.fetchall() if cursor.description else None


def schema_of(address):
    return address.partition("schema=")[2].partition("&")[0]


@pytest.mark.slow
def test_a_server_keeps_the_contract(server):
    schemas = {}

    def opened(folder):
        schema = schemas.setdefault(folder, f"s{next(NUMBERS)}")
        return PostgreSQL.open(server.address(schema, keys=folder / "v.keys"), create=True)

    check_vault(opened, examples=3)


def test_published_bytes_do_not_depend_on_the_store(server, tmp_path, address, monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", "17" * 32)
    months = list(hospital.year(60, months=3, seed=1))
    tables = []
    for place in (tmp_path / "plain.vault", address):
        series = rv.Series.open(place, hospital.schema(), rv.TauSafety(m=2), seed=5)
        tables.append([series.publish(month).table for month in months])
    assert all(one.equals(two) for one, two in zip(*tables, strict=True))


def test_two_publishers(address):
    with Vault.open(address) as vault:
        with pytest.raises(BusyError, match="another publisher is at work"):
            Vault.open(address)
        publish(vault)
    with Vault.open(address) as vault:
        assert vault.head() == 1


def test_whoever_was_overtaken_is_told(server, address):
    with Vault.open(address) as vault:
        publish(vault)
        change = change_of(vault, ROWS, TOLD)
        sql(server, f"UPDATE {schema_of(address)}.vault SET version = version + 1")
        with pytest.raises(BusyError, match="another publisher was first"):
            vault.prepare(change)


def cut(server):
    sql(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reveil'")


def test_a_connection_that_is_cut_leaves_the_vault_as_it_was(server, address):
    with Vault.open(address) as vault:
        publish(vault)
        change = change_of(vault, ROWS, TOLD)
        cut(server)
        with pytest.raises(VaultError) as caught:
            vault.prepare(change)
        assert caught.value.hint
    with Vault.open(address) as vault:
        assert [row.state for row in vault.releases()] == ["confirmed"]
        vault.prepare(change_of(vault, ROWS, TOLD))
        server.stop("immediate")
        with pytest.raises(VaultError):
            vault.confirm(2)
    with pytest.raises(VaultError, match="cannot be made or was lost") as caught:
        Vault.open(address)
    assert caught.value.hint
    server.start()
    with Vault.open(address) as vault:
        assert [row.state for row in vault.releases()] == ["confirmed", "pending"]
        vault.confirm(2)


CHILD = """
import sys, reveil as rv, polars as pl
from reveil.testing import hospital
import reveil.vault.sealed.postgresql as place
step, address = sys.argv[1:]
real = place.PostgresShelf.commit
calls = []
def commit(self, *given):
    calls.append(1)
    if step == f"before {len(calls)}":
        print("now", flush=True); import time; time.sleep(60)
    real(self, *given)
    if step == f"after {len(calls)}":
        print("now", flush=True); import time; time.sleep(60)
place.PostgresShelf.commit = commit
series = rv.Series.open(address, hospital.schema(), rv.TauSafety(m=2), seed=5)
months = list(hospital.year(60, months=2, seed=1))
series.publish(months[1])
print("done", flush=True)
"""


@pytest.mark.many
@pytest.mark.slow
@pytest.mark.parametrize("who", ["publisher", "server"])
@pytest.mark.parametrize("step", ["before 1", "after 1", "before 2", "after 2"])
def test_killed_at_any_step_the_same_command_finishes_with_the_same_bytes(server, tmp_path, monkeypatch, who, step):
    monkeypatch.setenv("REVEIL_KEY", "17" * 32)
    months = list(hospital.year(60, months=2, seed=1))
    twin = rv.Series.open(tmp_path / "twin.vault", hospital.schema(), rv.TauSafety(m=2), seed=5)
    expected = [twin.publish(month).table for month in months]
    address = server.address(f"s{next(NUMBERS)}", keys=tmp_path / "v.keys")
    series = rv.Series.open(address, hospital.schema(), rv.TauSafety(m=2), seed=5)
    assert series.publish(months[0]).table.equals(expected[0])
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, step, address],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ},
    )
    assert child.stdout.readline().strip() == "now"
    if who == "server":
        server.stop("immediate")
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    if who == "server":
        server.start()
    time.sleep(0.2)
    states = [row["state"] for row in series.history()]
    assert states in (["confirmed"], ["confirmed", "pending"], ["confirmed", "confirmed"])
    assert series.publish(months[1]).table.equals(expected[1])
    assert [row["state"] for row in series.history()] == ["confirmed", "confirmed"]
    assert series.check_vault().lacking is None


@pytest.fixture
def small_disk(server, tmp_path):
    """A disk of one megabyte that the server may write to."""
    folder = server.folder / f"disk{next(NUMBERS)}"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield server.own(folder)
    subprocess.run(["umount", "-l", folder], check=True)  # noqa: S607


def test_a_full_disk_leaves_the_vault_as_it_was(server, address, small_disk):
    place = small_disk / "space"
    place.mkdir()
    server.own(place)
    sql(server, f"CREATE TABLESPACE small LOCATION '{place}'")
    with Vault.open(f"{address}&options=-c%20default_tablespace%3Dsmall") as vault:
        publish(vault)
        filling = small_disk / "filling"
        with filling.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        with pytest.raises(VaultError, match="no room left"):
            vault.prepare(change_of(vault, ROWS, TOLD))
        filling.unlink()
        assert vault.head() == 1
        vault.prepare(change_of(vault, ROWS, TOLD))
        assert vault.head() == 2
    sql(server, f"DROP SCHEMA {schema_of(address)} CASCADE")
    sql(server, "DROP TABLESPACE small")


def traces_of(vault):
    """Return what the rows of people look like in bytes and in text: runs of eight numbers of a column."""
    connection = vault.store.connection
    for table in relations.tables_of(connection).values():
        if not table.personal and table.name != relations.PLACEMENTS:
            continue
        for name, numbers in relations.whole(connection, table).to_dict().items():
            run = numbers.to_list()[:8]
            if len(set(run)) < 4 or run == sorted(run) or None in run:
                continue  # which might be in any file
            yield (
                table.name,
                name,
                *(
                    np.array(run, kind).tobytes()
                    for kind in ("<i4", ">i4", "<i8", ">i8")
                    if max(map(abs, run)) < 1 << 31
                ),
            )
            yield table.name, name, *(mark.join(map(str, run)).encode() for mark in (",", ", ", "\t", "\n"))


def test_the_whole_database_tells_nothing(server, address, tmp_path):
    rare = [
        (pl.lit("zq ") + pl.col(name)).alias(name) for name in ("ward", "diagnosis")
    ]  # a server's own files have words like internal
    months = [month.with_columns(rare) for month in hospital.year(60, months=2, seed=1)]
    series = rv.Series.open(address, hospital.schema(), rv.TauSafety(m=2), anchor=tmp_path / "v.anchor")
    for month in months:
        series.publish(month)
    series.forget(months[0]["pid"][0])
    texts = {text for month in months for name in ("town", "ward", "diagnosis") for text in month[name] if text}
    persons = pl.concat([month["pid"] for month in months]).unique()
    with Vault.open(address) as vault:
        assert vault.store.connection.execute("SELECT COUNT(*) FROM persons").fetchone()[0] > 50
        numbers = [int(number) for own in vault.key.pseudonyms(persons) for number in own]
        traces = list(traces_of(vault))
        words = [vault.key.hex().encode(), bytes.fromhex(vault.key.hex()), *(text.encode() for text in texts)]
    assert len({name for _, name, *_ in traces}) > 5  # codes, groups, rows
    words += [bytes(word) for _, _, *own in traces for word in own]
    words += [struct.pack(f"{order}q", number) for number in numbers[:40] for order in "<>"]
    words += [str(number).encode() for number in numbers[:40]]
    content = server.dump()
    assert b"confirmed" in content
    assert [word for word in words if word in content] == []
    assert len(sql(server, f"SELECT * FROM {schema_of(address)}.history")) == 2


def test_an_old_dump_does_not_open_after_an_erasure(server, address):
    with Vault.open(address) as vault:
        publish(vault)
        bucket = pseudonym(vault, "p1")[0] & (BUCKETS - 1)
        dump = {(piece.bucket, piece.release): piece for n in (0, 1) for piece in vault.store.shelf.fetch(n)}
        vault.forget(*pseudonym(vault, "p1"))
    with Vault.open(address) as vault:
        for place in [(COMMONS, 0), (bucket, 0), (bucket, 1)]:
            with pytest.raises(VaultError, match="not what was written"):
                vault.store._pieces.opened(dump[place])


@pytest.mark.slow
def test_a_server_that_is_put_back_opens_with_the_keys_of_its_day_only(tmp_path):
    keys = tmp_path / "v.keys"
    with servers.running() as server:
        address = server.address("s", keys=keys)
        with Vault.open(address) as vault:
            publish(vault)
            person = pseudonym(vault, "p1")
        then = keys.read_bytes()
        server.stop()
        shutil.copytree(server.data, f"{server.folder}/old", copy_function=shutil.copy2)
        server.start()
        with Vault.open(address) as vault:
            vault.forget(*person)
        server.stop()
        for path in Path(f"{server.folder}/old").rglob("*"):
            server.own(path)
        server.own(Path(f"{server.folder}/old"))
        shutil.rmtree(server.data)
        Path(f"{server.folder}/old").rename(server.data)
        server.start()
        now = keys.read_bytes()
        with pytest.raises(VaultError, match="not what was written") as caught:
            Vault.open(address)
        assert caught.value.hint
        keys.write_bytes(then)  # who keeps old keys undoes erasures, and the documentation says so
        with Vault.open(address) as vault:
            assert vault.recall(*vault.key.pseudonyms(pl.Series(["p1"]))).person.tolist() == [0]
        assert now != then


def test_roles(server, tmp_path):
    import psycopg

    schema = f"s{next(NUMBERS)}"
    address = server.address(schema)
    assert initialise(address, roles=True) == [f"{schema}_{role}" for role in ("publisher", "auditor", "reader")]
    assert initialise(address, roles=True)  # again
    for role in ("publisher", "auditor", "reader"):
        sql(server, f"CREATE ROLE {schema}_{role}_login LOGIN IN ROLE {schema}_{role}")
    with Vault.open(server.address(schema, f"{schema}_publisher_login", keys=tmp_path / "v.keys")) as vault:
        publish(vault)
    auditor = server.address(schema, f"{schema}_auditor_login", keys=tmp_path / "v.keys")
    assert sql(server, f"SELECT release FROM {schema}.history", f"{schema}_auditor_login") == [(1,)]
    with pytest.raises(VaultError, match="may not do that") as caught:
        Vault.open(auditor)
    assert f"{schema}_publisher" in str(caught.value.hint)
    for role, column in (("auditor", "body"), ("reader", "body"), ("reader", "bucket")):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            sql(server, f"SELECT {column} FROM {schema}.pieces", f"{schema}_{role}_login")
    assert sql(server, f"SELECT release, state FROM {schema}.history", f"{schema}_reader_login") == [(1, "confirmed")]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sql(server, f"SELECT counts FROM {schema}.history", f"{schema}_reader_login")


def test_a_series_moves_to_a_server_and_back(server, tmp_path, address):
    months = list(hospital.year(60, months=3, seed=1))
    schema, guarantee = hospital.schema(), rv.TauSafety(m=2)
    series = rv.Series.open(tmp_path / "a.vault", schema, guarantee)
    series.publish(months[0])
    assert copy_vault(tmp_path / "a.vault", place_of(address)) == 1
    moved = rv.Series.open(address, schema, guarantee, anchor=tmp_path / "a.anchor")
    moved.publish(months[1])
    moved.rotate_key()
    assert copy_vault(place_of(address), tmp_path / "b.vault") == 2
    back = rv.Series.open(tmp_path / "b.vault", schema, guarantee, anchor=tmp_path / "a.anchor")
    assert back.publish(months[2]).manifest["release"] == 3
    with pytest.raises(RefusedError, match="the series goes on there"):
        moved.publish(months[2])


def test_what_can_be_wrong_with_a_server(server, address, tmp_path, monkeypatch):
    keys = {"keys": tmp_path / "w.keys"}
    with pytest.raises(VaultError, match="there is no vault in the schema 'nowhere'"):
        Vault.open(server.address("nowhere", **keys), create=False)
    with pytest.raises(VaultError, match="no such database"):
        Vault.open(address.replace("/postgres?", "/nothing?"))
    with pytest.raises(VaultError, match="does not let this user in"):
        Vault.open(server.address("s", "stranger", **keys))
    sql(server, "DROP ROLE IF EXISTS asks")
    sql(server, "CREATE ROLE asks LOGIN PASSWORD 'right'")
    monkeypatch.setenv("PGPASSWORD", "wrong-word")
    with pytest.raises(VaultError, match="does not accept this password") as caught:
        Vault.open(server.address("s", "asks", **keys))
    assert "wrong-word" not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", "right")
    with pytest.raises(VaultError, match="may not do that"):
        Vault.open(server.address("s", "asks", **keys))
    with pytest.raises(VaultError, match="cannot be made or was lost"):
        Vault.open("postgresql://owner@/postgres?host=/nowhere&schema=s&keys=" + str(tmp_path / "w.keys"))
    Vault.open(address).close()
    sql(server, f"UPDATE {schema_of(address)}.vault SET layout = 99")
    with pytest.raises(VaultError, match="layout 99"):
        Vault.open(address)
    sql(server, f"UPDATE {schema_of(address)}.vault SET layout = 1, format = 99")
    with pytest.raises(VaultError, match="format 99"):
        Vault.open(address)
    sql(server, "CREATE SCHEMA foreign_things; CREATE TABLE foreign_things.vault (layout TEXT)")
    with pytest.raises(VaultError, match="no vault's"):
        Vault.open(server.address("foreign_things", **keys))


def test_the_command_says_it_with_exit_code_2(server, tmp_path, monkeypatch):
    def said(address, *words):
        config = hospital.config('kind = "tau-safety"\nm = 2', vault=address)
        (tmp_path / "reveil.toml").write_text(config.replace("[series]", '[series]\nkeys = "c.keys"'))
        done = reveil(
            *(words or ("publish", tmp_path / "s.csv", "-o", tmp_path / "r.csv")), "-c", tmp_path / "reveil.toml"
        )
        assert "Traceback" not in done.stderr
        assert "hush" not in done.stderr + done.stdout
        return done.returncode, done.stderr

    next(hospital.year(60, months=1, seed=1)).write_csv(tmp_path / "s.csv")
    monkeypatch.setenv("PGPASSWORD", "hush-hush")
    sql(server, "DROP ROLE IF EXISTS asks")
    sql(server, "CREATE ROLE asks LOGIN PASSWORD 'right'")
    cases = {
        "does not accept this password": server.address("t", "asks"),
        "no such database": server.address("t").replace("/postgres?", "/nothing?"),
        "cannot be made or was lost": "postgresql://owner@/postgres?host=/nowhere&schema=t",
    }
    for words, address in cases.items():
        code, text = said(address, "history")
        assert (code, words in text) == (2, True), text
        assert "\n  " in text  # the remedy
        assert not (tmp_path / "r.csv").exists()
    code, text = said(server.address("t"), "vault", "check")
    assert (code, "there is no vault in the schema 't'" in text) == (2, True), text
    assert said(server.address("t"))[0] == 0
    for change, words in (
        ("layout = 99", "layout 99"),
        ("layout = 0", "no vault's"),
        ("layout = 1, format = 99", "format 99"),
    ):
        sql(server, f"UPDATE t.vault SET {change}")
        code, text = said(server.address("t"))
        assert (code, words in text) == (2, True), text
    sql(server, "UPDATE t.vault SET layout = 1, format = 1")
    # The vault of a series about something else, under another name.
    (tmp_path / "o.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "other.toml").write_text(
        f'[series]\nname = "other"\nvault = "{server.address("t")}"\nkeys = "c.keys"\n'
        '[columns]\na = "quasi"\nb = "sensitive"\n[guarantee]\nkind = "tau-safety"\nm = 2\n'
    )
    done = reveil("publish", tmp_path / "o.csv", "-c", tmp_path / "other.toml", "-o", tmp_path / "o2.csv")
    assert done.returncode == 2, done.stderr
    assert not (tmp_path / "o2.csv").exists()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("server does not support SSL, but SSL was required", r"does not let this user in(.|\n)*TLS"),
        ('no pg_hba.conf entry for host "h", user "u", database "d", no encryption', r"(.|\n)*sslmode=require"),
        ("connection refused by secret-host", "cannot be made or was lost"),
        ("sorry, too many clients already", "takes no more connections"),
    ],
)
def test_what_libpq_says_in_words_only(text, match):
    import psycopg

    error = failure(psycopg.OperationalError(text), "postgresql://h/d", "s")
    assert re.search(match, str(error))
    assert "secret" not in str(error)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_a_server_that_wants_tls(tmp_path):
    port = free_port()
    with servers.running() as server:
        Vault.open(server.address("s", keys=tmp_path / "v.keys")).close()
        server.stop()
        make_certificate(server)
        server.start(f"port={port}", "ssl=on", listen="127.0.0.1")
        over_network = f"postgresql://{servers.OWNER}@127.0.0.1:{port}/postgres?schema=s&keys={tmp_path / 'v.keys'}"
        Vault.open(f"{over_network}&sslmode=require").close()
        with pytest.raises(VaultError, match="does not let this user in") as caught:
            Vault.open(f"{over_network}&sslmode=disable")
        assert "sslmode=require" in str(caught.value)
        with pytest.raises(VaultError, match="does not let this user in"):
            Vault.open(f"{over_network}&sslmode=verify-full&sslrootcert={tmp_path / 'none.crt'}")
        server.stop()
        server.start(f"port={port}", listen="127.0.0.1")
        with pytest.raises(VaultError, match=r"does not let this user in(.|\n)*TLS"):
            Vault.open(f"{over_network}&sslmode=require")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def make_certificate(server):
    key, certificate = (server.folder / "data" / name for name in ("server.key", "server.crt"))
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    key.chmod(0o600)
    server.own(key)
    server.own(certificate)


@pytest.mark.slow
def test_a_real_replica_is_refused(tmp_path):
    with servers.running() as server:
        address = server.address("s", keys=tmp_path / "v.keys")
        with Vault.open(address) as vault:
            publish(vault)
        copy = server.copied(server.folder / "copy")
        try:
            with Vault.open(copy.address("s", keys=tmp_path / "v.keys")) as vault:
                assert vault.head() == 1
                with pytest.raises(VaultError, match="read-only copy") as caught:
                    publish(vault)
            assert "primary" in str(caught.value.hint)
            with pytest.raises(VaultError, match="read-only copy"):
                initialise(copy.address("another", keys=tmp_path / "w.keys"), roles=True)
        finally:
            copy.stop("immediate")


@pytest.mark.slow
def test_a_session_is_a_publishers_whatever_the_server_has_as_its_default(tmp_path):
    """Nothing is lost that was committed, nobody is taken for gone, and a machine that is gone is noticed."""
    port, schema = free_port(), "s"
    with servers.running() as server:
        server.stop()
        defaults = ("synchronous_commit=off", "idle_session_timeout=1000", "search_path=public")
        server.start(f"port={port}", *defaults, listen="127.0.0.1")
        sql(
            server,
            "CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE sql AS 'SELECT 1/0'",
            port=port,
        )
        address = server.address(schema, port=port, keys=tmp_path / "v.keys")

        def settings_of(vault):
            names = ("synchronous_commit", "idle_session_timeout", "tcp_keepalives_idle", "tcp_keepalives_count")
            return [vault.store.shelf.connection.execute(f"SHOW {name}").fetchone()[0] for name in names]

        with Vault.open(address) as vault:
            assert settings_of(vault)[:2] == ["on", "0"]
            publish(vault)
            time.sleep(1.2)
            publish(vault)
        for level in ("local", "remote_write"):  # whoever chose how much is waited for beyond this server, keeps it
            with Vault.open(f"{address}&options=-c%20synchronous_commit%3D{level}") as vault:
                assert settings_of(vault)[0] == level
        (Path(server.data) / "pg_hba.conf").write_text("host all all 127.0.0.1/32 trust\nlocal all all trust\n")
        server.stop()
        server.start(f"port={port}", listen="127.0.0.1")
        over = f"postgresql://{servers.OWNER}@127.0.0.1:{port}/postgres?schema={schema}&keys={tmp_path / 'v.keys'}"
        with Vault.open(over) as vault:
            assert settings_of(vault)[2:] == ["30", "3"]
        with Vault.open(f"{over}&keepalives_idle=7") as vault:
            assert "keepalives_idle=7" in vault.store.shelf.connection.info.dsn


def test_a_read_only_copy_is_refused(server, address):
    Vault.open(address).close()
    read_only = address + "&options=-c%20default_transaction_read_only%3Don"
    with Vault.open(read_only) as vault, pytest.raises(VaultError, match="read-only copy"):
        publish(vault)


def test_keys_of_another_vault_are_refused(server, tmp_path):
    addresses = [server.address(f"s{next(NUMBERS)}", keys=tmp_path / f"{name}.keys") for name in "vw"]
    for address in addresses:
        with Vault.open(address) as vault:
            publish(vault)
    (tmp_path / "v.keys").write_bytes((tmp_path / "w.keys").read_bytes())
    (tmp_path / "v.key").write_bytes((tmp_path / "w.key").read_bytes())
    with pytest.raises(VaultError, match="does not belong to this vault"):
        Vault.open(addresses[0])


def test_persons_of_a_sealed_vault_are_found(address):
    with Vault.open(address) as vault:
        publish(vault)
    with Vault.open(address) as vault:
        found = vault.recall(*vault.key.pseudonyms(pl.Series(["p2", "nobody", "p1"])))
        assert found.person.tolist() == [1, -1, 0]
