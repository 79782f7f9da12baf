"""What scripts send, for the description of our addresses, which tests read."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def json_body(kind: type[BaseModel]) -> dict[str, Any]:
    """The schema with all its parts in place."""
    schema = kind.model_json_schema()
    content = {"application/json": {"schema": _inlined(schema, schema.pop("$defs", {}))}}
    return {"requestBody": {"required": True, "content": content}}


def _inlined(schema: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rsplit("/", 1)[1]], parts)
    return {name: _inlined(value, parts) for name, value in schema.items()}
