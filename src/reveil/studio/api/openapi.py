"""The OpenAPI document of the REST interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.releases.manifest import version
from reveil.studio.api.schemas import COLLECTIONS, PREFIX, schema_of
from reveil.studio.tasks import TASKS
from reveil.studio.tasks.publishing import PublishTask

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

_NAME: dict[str, JSON] = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "the name of the series: the path of its config without .toml, or the name that the config has",
}
_JOB: dict[str, JSON] = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}


def document() -> dict[str, JSON]:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Reveil studio",
            "version": version(),
            "description": "Publishes tables about people again and again without telling who has what. Show the token "
            "of the studio as Authorization: Bearer. Long work is a job: ask for it until it is over.",
        },
        "servers": [{"url": PREFIX}],
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                **{task.__name__: schema_of(task) for task in TASKS.values()},
                "Job": _job_schema(),
                "Problem": _problem_schema(),
                "Series": _series_schema(),
            },
        },
    }


def _paths() -> dict[str, JSON]:
    paths: dict[str, JSON] = {
        f"/{name}": {"post": _starts(name, f"Start {TASKS[command].command}", TASKS[command].__name__)}
        for name, command in COLLECTIONS.items()
        if name != "series"
    }
    release = schema_of(PublishTask, without=("config_path",))
    properties = release["properties"]
    sent = {"file": {"type": "string", "format": "binary"}, **(properties if isinstance(properties, dict) else {})}
    paths["/series"] = {
        "get": _gives("listSeries", "The series of the folder", _listed("Series")),
        "post": _starts("series", "Look at a table, propose a config, and write it where out is given", "InitTask"),
    }
    paths["/series/{name}"] = {
        "parameters": [_NAME],
        "get": _gives("getSeries", "One series with its releases", _reference("Series")),
    }
    paths["/series/{name}/releases"] = {
        "parameters": [_NAME],
        "get": _gives("listReleases", "The releases of a series", {"type": "array", "items": {"type": "object"}}),
        "post": {
            **_starts("releases", "Publish a table: a file of the folder, or one that is sent", None),
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {"schema": release},
                    "multipart/form-data": {"schema": {"type": "object", "properties": sent}},
                },
            },
        },
    }
    paths["/jobs"] = {"get": _gives("listJobs", "The jobs, the latest first", _listed("Job"))}
    paths["/jobs/{id}"] = {
        "parameters": [_JOB],
        "get": _gives("getJob", "A job: its state, its stages, its result", _reference("Job")),
        "delete": _gives("stopJob", "Stop a job", _reference("Job")),
    }
    paths["/jobs/{id}/files/{file}"] = {
        "parameters": [_JOB, {"name": "file", "in": "path", "required": True, "schema": {"type": "string"}}],
        "get": {
            "operationId": "getFile",
            "summary": "A file that a job made",
            "responses": {
                "200": {"description": "the file", "content": {"application/octet-stream": {}}},
                **_problems(),
            },
        },
    }
    return paths


def _starts(name: str, summary: str, task: str | None) -> dict[str, JSON]:
    body: dict[str, JSON] = {}
    if task is not None:
        content: JSON = {"application/json": {"schema": _reference(task)}}
        body = {"requestBody": {"required": True, "content": content}}
    return {
        "operationId": f"start{name.capitalize()}",
        "summary": summary,
        **body,
        "responses": {
            "202": {"description": "the job", "content": {"application/json": {"schema": _reference("Job")}}},
            **_problems(),
        },
    }


def _gives(name: str, summary: str, schema: dict[str, JSON]) -> dict[str, JSON]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": {"application/json": {"schema": schema}}},
            **_problems(),
        },
    }


def _problems() -> dict[str, JSON]:
    schema: JSON = {"application/problem+json": {"schema": _reference("Problem")}}
    return {"default": {"description": "what went wrong: the thing, the place, the remedy", "content": schema}}


def _reference(name: str) -> dict[str, JSON]:
    return {"$ref": f"#/components/schemas/{name}"}


def _listed(name: str) -> dict[str, JSON]:
    return {"type": "array", "items": _reference(name)}


def _job_schema() -> dict[str, JSON]:
    states: list[JSON] = ["waiting", "running", "finished", "refused", "stopped"]
    return {
        "type": "object",
        "required": ["id", "command", "state"],
        "properties": {
            "id": {"type": "string"},
            "command": {"type": "string"},
            "state": {"type": "string", "enum": states},
            "who": {"type": "string"},
            "stages": {"type": "array", "items": {"type": "object"}},
            "seconds": {"type": "number"},
            "seconds_left": {"type": ["number", "null"]},
            "result": {"type": ["object", "null"]},
            "files": {"type": "array", "items": {"type": "string"}},
            "problem": {"anyOf": [_reference("Problem"), {"type": "null"}]},
        },
    }


def _series_schema() -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "title": {"type": "string"},
            "config": {"type": "string"},
            "guarantee": {"type": "string"},
            "promise": {"type": "string"},
            "busy": {"type": "boolean"},
            "releases": {"type": "array", "items": {"type": "object"}},
            "problem": {"anyOf": [_reference("Problem"), {"type": "null"}]},
        },
    }


def _problem_schema() -> dict[str, JSON]:
    text: JSON = {"type": ["string", "null"]}
    return {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "thing": {"type": "string"},
            "place": text,
            "remedy": text,
        },
    }
