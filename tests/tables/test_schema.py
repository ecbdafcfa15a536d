"""Roles, settings and the errors they raise."""

import tomllib

import pytest

import reveil as rv
from reveil.tables.schema import Role, toml_key


def test_roles_are_found_by_name():
    schema = rv.Schema(person="pid", identifiers="name", quasi=["age"], sensitive=["a", "b"], plain="w")
    assert (schema.person, schema.identifiers, schema.quasi, schema.sensitive, schema.plain) == (
        "pid",
        ("name",),
        ("age",),
        ("a", "b"),
        ("w",),
    )
    assert schema["age"].role is Role.QUASI
    with pytest.raises(KeyError):
        schema["nobody"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quasi": "a", "sensitive": "a"}, "two roles"),
        ({"sensitive": "a"}, "no quasi column"),
        ({"quasi": "a", "person": ("p", "q")}, "one person column"),
        ({"quasi": "a", "types": {"b": "text"}}, "without a role"),
        ({"quasi": "a", "types": {"a": "integer"}}, "unknown type"),
        ({"quasi": "a", "orders": {"a": ["x", "x"]}}, "twice"),
        ({"quasi": "a", "orders": {"a": "xy"}}, "list of values"),
        ({"quasi": "a", "orders": {"a": ["x"]}, "hierarchies": {"a": {"X": ["x"]}}}, "both"),
        ({"quasi": "a", "bins": {"a": 4}}, "cannot have bins"),
        ({"quasi": "a", "sensitive": "s", "bins": {"s": 1}}, "from 2 up"),
        ({"quasi": "a", "plain": "p", "orders": {"p": ["x"]}}, "cannot have order"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(rv.ConfigError, match=message) as caught:
        rv.Schema(**arguments)
    assert caught.value.exit_code == 2


def test_toml_keys_are_quoted_where_needed():
    assert toml_key("age") == "age"
    assert toml_key("marital status") == '"marital status"'
    assert toml_key('say "x"') == '"say \\"x\\""'
    assert toml_key("größe") == '"größe"'
    for name in ("a\nb", "tab\t", "\x7f", "\\", ""):
        assert tomllib.loads(f"{toml_key(name)} = 1") == {name: 1}
