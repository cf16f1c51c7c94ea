"""A definition: a tool written down as a plain dictionary, in the field names of whoever wrote it."""

from typing import Any

from toolsearch.errors import InvalidToolError
from toolsearch.tool import EMPTY_SCHEMA, Tool, make_tool

FINGERPRINT_KEY = "toolsearch/fingerprint"
"""Under MCP `_meta` or among the annotations: the fingerprint of the `Tool` that a definition was made from."""

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "params_json_schema")
"""What the schema of the arguments is called: OpenAI, Anthropic, MCP, Pydantic AI, OpenAI Agents."""
_MCP_SCHEMA = "inputSchema"
OUTPUT_KEYS = ("output_schema", "outputSchema", "output_json_schema")

UNNAMED = "?"
"""What an error calls a tool that has neither name, id nor key."""

_ALWAYS_LOAD = "anthropic/alwaysLoad"
_SEARCH_HINT = "anthropic/searchHint"

# Read as they are; pydantic checks them. `id`, `name` and the schemas have rules of their own.
_OWN_KEYS = ("title", "description", "aliases", "examples", "pinned", "overrides", "provenance")
# What a definition may call itself. Others are a provider's own tools (`web_search_20250305`), which have no schema here.
_TYPES = (None, "function", "custom")
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def read_definition(definition: dict[str, Any], key: str | None, server: str | None) -> Tool:
    """The tool a definition describes, without an original; keys that mean nothing here are left aside.

    Raises:
        InvalidToolError: a field is missing or has the wrong shape.
    """
    body = _body(definition)
    name = body.get("name")
    own_id = body.get("id")
    label = next((text for text in (name, own_id, key) if isinstance(text, str) and text), UNNAMED)
    if name is None:
        name = own_id or key  # Mastra's tools have an id and no name; in a mapping the key may be all there is
    if not isinstance(name, str) or not name:
        raise InvalidToolError(label, "name", f"a tool needs a name, a text; got {name!r:.50}")
    if own_id is not None and not isinstance(own_id, str):
        raise InvalidToolError(label, "id", f"expected a text, got {type(own_id).__name__}")
    _refuse_provider_tool(body, label)
    fields = {field: body[field] for field in _OWN_KEYS if body.get(field) is not None}
    if _MCP_SCHEMA in body:
        # Written by the server itself, which must not say that it may take another's name.
        fields.pop("overrides", None)
    fields["name"] = name
    if own_id or key:
        fields["id"] = own_id or key
    fields["server"] = body.get("server", server)
    fields["parameters"] = _parameters(body, label)
    fields["output_schema"] = next((body[field] for field in OUTPUT_KEYS if body.get(field) is not None), None)
    fields["tags"] = _tags(body)
    _read_annotations(body, fields, label)
    _read_meta(body, fields, label)
    tool = make_tool(**fields)
    tool.fingerprint  # noqa: B018 - remembered from here on; and what is not JSON shows now, not in the middle of a search
    return tool


def _body(definition: dict[str, Any]) -> dict[str, Any]:
    """The fields of a nested definition: OpenAI chat (`function`) and Bedrock (`toolSpec`)."""
    for wrapper in ("function", "toolSpec"):
        inner = definition.get(wrapper)
        if isinstance(inner, dict):
            return inner
    return definition


def _refuse_provider_tool(body: dict[str, Any], label: str) -> None:
    kind = body.get("type")
    if kind not in _TYPES and not any(field in body for field in (*SCHEMA_KEYS, "description")):
        raise InvalidToolError(
            label,
            "type",
            f"{kind!r} is a tool that the provider runs: it has no schema to search; hand it to the model directly",
        )


def _parameters(body: dict[str, Any], label: str) -> dict[str, Any]:
    field = next((field for field in SCHEMA_KEYS if body.get(field) is not None), None)
    if field is None:
        return dict(_FREE_TEXT if body.get("type") == "custom" else EMPTY_SCHEMA)
    schema = body[field]
    if not isinstance(schema, dict):
        raise InvalidToolError(label, field, f"expected a JSON Schema object, got {type(schema).__name__}")
    if isinstance(schema.get("json"), dict) and len(schema) == 1:
        schema = schema["json"]  # Bedrock and Strands wrap it once more
    if not schema:
        return dict(EMPTY_SCHEMA)
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise InvalidToolError(label, field, f"arguments are an object; this schema says type {kind!r}")
    if not isinstance(schema.get("properties", {}), dict):
        raise InvalidToolError(label, f"{field}.properties", "expected an object of schemas by parameter name")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise InvalidToolError(label, f"{field}.required", "expected a list of parameter names")
    checked: dict[str, Any] = schema
    return checked


def _tags(body: dict[str, Any]) -> Any:
    tags, category = body.get("tags"), body.get("category")
    if not isinstance(category, str) or not category:
        return () if tags is None else tags
    if tags is None:
        return (category,)
    return [*tags, category] if isinstance(tags, list) and category not in tags else tags


def _read_annotations(body: dict[str, Any], fields: dict[str, Any], label: str) -> None:
    annotations = body.get("annotations")
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        raise InvalidToolError(label, "annotations", f"expected an object, got {type(annotations).__name__}")
    rest = dict(annotations)
    if isinstance(mark := rest.pop(FINGERPRINT_KEY, None), str):
        fields["provenance"] = mark
    if isinstance(rest.get("title"), str):
        fields.setdefault("title", rest["title"])
    fields["annotations"] = rest


def _read_meta(body: dict[str, Any], fields: dict[str, Any], label: str) -> None:
    meta = body["_meta"] if body.get("_meta") is not None else body.get("meta")
    if not isinstance(meta, dict):
        if body.get("_meta") is not None:
            raise InvalidToolError(label, "_meta", f"expected an object, got {type(meta).__name__}")
        return
    if isinstance(mark := meta.get(FINGERPRINT_KEY), str):
        fields["provenance"] = mark
    if meta.get(_ALWAYS_LOAD) is True:
        fields["pinned"] = True
    hint = meta.get(_SEARCH_HINT)
    if isinstance(hint, str) and hint.strip():
        fields["examples"] = (*fields.get("examples", ()), hint)
