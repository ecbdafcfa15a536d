"""REST under ``/api/v1``: the same tasks as the pages start, for programs, with an OpenAPI document."""
