"""Hierarchies: made of a column, looked at as a tree, a value moved, saved."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from reveil.core.json_values import list_in, object_in, text_in
from reveil.releases.files import KeptFiles, file_target, write_file
from reveil.series.config import load_config
from reveil.studio.config_lines import with_hierarchy
from reveil.studio.forms import form_values
from reveil.studio.problems import Problem, StudioError, not_here
from reveil.studio.tasks.hierarchies import HierarchyTask
from reveil.studio.trees import TreeDraft
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from starlette.responses import Response

    from reveil.studio.visiting import Visit

_MOST_DRAFTS = 50


def show(visit: Visit) -> Response:
    """Show the form, and the hierarchies that the configs name."""
    named = []
    columns: set[str] = set()
    for found in visit.studio.folder.series():
        state = visit.studio.histories.get(found, patience=0.0)
        if state.columns is not None:
            schema = load_config(visit.studio.folder.root / found.path).schema
            columns.update(schema.names(Role.QUASI))
            named += [
                (found, column.name, len(column.taxonomy.leaves))
                for column in schema.columns
                if column.taxonomy is not None
            ]
    return visit.page(
        "hierarchies.html.j2",
        title="Hierarchies",
        here="hierarchies",
        series=visit.studio.folder.series(),
        tables=visit.raw_tables(),
        named=named,
        columns=sorted(columns),
        config=visit.query.get("config"),
    )


def start(visit: Visit) -> Response:
    """Make one."""
    return visit.begin_and_go(HierarchyTask, form_values(HierarchyTask, visit.form))


def edit(visit: Visit) -> Response:
    """Begin to work on what a job made, or on what a config names."""
    if (key := visit.form.get("job")) is not None:
        job = visit.studio.board.get(key)
        if job.outcome is None or not isinstance(job.task, HierarchyTask):
            raise StudioError(Problem(400, "This job made no hierarchy.", None, "Make one first."))
        content = object_in(job.outcome.content)
        paths = [tuple(text_in(label) for label in list_in(path)) for path in list_in(content["paths"])]
        draft = TreeDraft(text_in(content["column"]), paths, job.task.data, job.task.config_path)
    else:
        config, column = visit.form.get("config") or "", visit.form.get("column") or ""
        schema = load_config(visit.studio.folder.config(config)).schema
        found = next((one for one in schema.columns if one.name == column and one.taxonomy is not None), None)
        if found is None or found.taxonomy is None:
            raise not_here("This column has no hierarchy.")
        draft = TreeDraft.of_taxonomy(found.taxonomy, column=column, config=config)
    while len(visit.studio.trees) >= _MOST_DRAFTS:
        visit.studio.trees.pop(next(iter(visit.studio.trees)))
    key = secrets.token_urlsafe(9)
    visit.studio.trees[key] = draft
    return visit.go(f"/hierarchies/{key}")


def show_tree(visit: Visit) -> Response:
    """Show a hierarchy that somebody works on."""
    draft = _draft(visit)
    return visit.page(
        "tree.html.j2",
        title=f"Hierarchy of {draft.column}",
        here="hierarchies",
        owner=True,
        key=visit.parts["key"],
        draft=draft,
        root=draft.root,
        moved=visit.query.get("moved"),
        out=draft.file or _free(visit, draft),
    )


def move(visit: Visit) -> Response:
    """Move a value to another label, or give a label another name."""
    draft = _draft(visit)
    if visit.form.get("label") is not None:
        draft.rename(visit.form.get("label") or "", visit.form.get("name") or "")
        return visit.go(f"/hierarchies/{visit.parts['key']}")
    value = visit.form.get("value") or ""
    draft.move(value, visit.form.get("parent") or "")
    return visit.go(f"/hierarchies/{visit.parts['key']}?moved={quote(value)}")


def save(visit: Visit) -> Response:
    """Write the file and, if that is asked for, name it in the config, whose comments stay."""
    draft = _draft(visit)
    name = visit.form.get("out") or ""
    target = visit.studio.folder.new(name)
    if target.suffix != ".csv":
        raise StudioError(Problem(400, "A hierarchy ends in .csv.", name, "Choose this ending."))
    if draft.file != name and target.exists():
        raise StudioError(Problem(409, "This file exists.", name, "Choose another name."))
    text = draft.text()
    Taxonomy.from_paths([tuple(reversed(path)) for path in draft.paths], where=name)
    config = None if draft.config is None else visit.studio.folder.config(draft.config)
    if draft.file != name:
        file_target(target, KeptFiles(() if config is None else (config,)))
    target.write_text(text, encoding="utf-8")
    draft.file, draft.changed = name, False
    visit.studio.log.add(visit.session.who, "save hierarchy", file=name, config_path=draft.config)
    if visit.form.get("use") == "yes" and config is not None:
        reached = Path("../" * len(Path(draft.config or "").parent.parts)) / name
        changed = with_hierarchy(config.read_text(encoding="utf-8"), draft.column, reached.as_posix())
        write_file(config, changed.encode(), KeptFiles(), config=True)
        return visit.go(f"/series?config={quote(draft.config or '')}")
    return visit.go(f"/hierarchies/{visit.parts['key']}?moved=")


def _draft(visit: Visit) -> TreeDraft:
    draft = visit.studio.trees.get(visit.parts["key"])
    if draft is None:
        raise not_here("This hierarchy is not open any more.")
    return draft


def _free(visit: Visit, draft: TreeDraft) -> str:
    stem = "".join(ch if ch.isalnum() or ch in "-_" else "_" for ch in draft.column)[:60] or "column"
    name, count = f"{stem}-hierarchy.csv", 1
    while (visit.studio.folder.root / name).exists():
        count += 1
        name = f"{stem}-hierarchy-{count}.csv"
    return name
