"""Taxonomies from files and tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.tables.hierarchy import Taxonomy


def test_arx_files_with_either_delimiter(tmp_path):
    for name, text in (("a.csv", "x;A;*\ny;A;*\nz;B;*\n"), ("b.csv", '"x",A,*\ny,A,*\n\nz,B,*\n')):
        (tmp_path / name).write_text(text)
        taxonomy = Taxonomy.load(tmp_path / name)
        assert taxonomy.leaves == ("x", "y", "z")
        node = taxonomy.cover(np.array([0, 0, 2]), np.array([1, 2, 2]))
        # B covers z alone: a chain over the same leaves is one node, named by its lowest label.
        assert [taxonomy.labels[n] for n in node] == ["A", "*", "z"]


def test_toml_with_and_without_a_root(tmp_path):
    (tmp_path / "h.toml").write_text('[North]\nFells = ["f1", "f2"]\n[South]\nPlain = ["p1"]\nHills = ["h1"]\n')
    taxonomy = Taxonomy.load(tmp_path / "h.toml")
    assert taxonomy.leaves == ("f1", "f2", "p1", "h1")
    assert "*" in taxonomy.labels
    rooted = Taxonomy.load({"World": {"Europe": ["dk"], "Asia": ["jp", "kr"]}})
    assert "*" not in rooted.labels
    assert rooted.labels[rooted.cover(np.array([0]), np.array([2]))[0]] == "World"


def test_every_label_of_a_chain_names_its_node():
    taxonomy = Taxonomy.load({"North": {"Fells": ["f1", "f2"]}, "South": {"Plain": ["p1"]}})
    nodes = taxonomy.node_of_label
    assert nodes["North"] == nodes["Fells"]
    assert nodes["South"] == nodes["Plain"] == nodes["p1"]


def test_children_that_are_apart_in_the_file_are_put_together(tmp_path):
    (tmp_path / "h.csv").write_text("a;X;*\nb;Y;*\nc;X;*\n")
    assert Taxonomy.load(tmp_path / "h.csv").leaves == ("a", "c", "b")


def test_uneven_depth_in_a_table():
    taxonomy = Taxonomy.load({"Europe": {"Nordic": ["dk", "no"], "West": ["fr"]}, "Else": ["us", "jp"]})
    assert taxonomy.labels[taxonomy.cover(np.array([3]), np.array([4]))[0]] == "Else"
    assert taxonomy.labels[taxonomy.cover(np.array([0]), np.array([2]))[0]] == "Europe"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;X;*\nb;X\n", "2 cells"),
        ("a;X;*\na;Y;*\n", "two places"),
        ("a;X\nb;Y\n", "2 roots"),
        ("a;X;All\nb;X;All\nX;Y;All\n", "more than one node"),
        ("", "no values"),
    ],
)
def test_broken_files_are_named(tmp_path, text, message):
    path = tmp_path / "h.csv"
    path.write_text(text)
    with pytest.raises(rv.ConfigError, match=message) as caught:
        Taxonomy.load(path)
    assert str(path) in str(caught.value)


def test_missing_and_foreign_files_are_named(tmp_path):
    with pytest.raises(rv.FileError, match="cannot read"):
        Taxonomy.load(tmp_path / "none.csv")
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe;*")
    with pytest.raises(rv.FileError, match="UTF-8"):
        Taxonomy.load(tmp_path / "x.csv")
    (tmp_path / "x.toml").write_text("[a")
    with pytest.raises(rv.ConfigError, match="TOML"):
        Taxonomy.load(tmp_path / "x.toml")
    with pytest.raises(rv.ConfigError, match="neither a table nor a list"):
        Taxonomy.load({"A": {"B": 3}})


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 30)), min_size=1, max_size=20))
def test_cover_is_the_lowest_node(drawn):
    """Against the plain definition: the smallest node interval that contains the leaves."""
    paths = {leaf: ("*", f"A{a}", f"B{a}{b}", f"l{leaf}") for a, b, leaf in drawn}
    taxonomy = Taxonomy.from_paths(list(paths.values()), where="drawn")
    size = len(taxonomy.leaves)
    lo, hi = np.triu_indices(size)
    cover = taxonomy.cover(lo.astype(np.int32), hi.astype(np.int32))
    for low, high, node in zip(lo, hi, cover, strict=True):
        around = [
            (b - a, n) for n, (a, b) in enumerate(zip(taxonomy.lo, taxonomy.hi, strict=True)) if a <= low and high <= b
        ]
        assert node == min(around)[1]
    for leaf in range(size - 1):
        node = taxonomy.cover(np.array([leaf], np.int32), np.array([leaf + 1], np.int32))[0]
        depth = max(
            level
            for level in range(taxonomy.depth + 1)
            if taxonomy.levels[level, leaf] == taxonomy.levels[level, leaf + 1]
        )
        assert taxonomy.boundary_depth[leaf] == depth
        assert node in taxonomy.levels[:, leaf]
