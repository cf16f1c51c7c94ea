"""The wire: a tool as the dictionary that a provider or a protocol expects; the opposite direction of `shapes`."""

from typing import Any

from toolsearch.definitions import FINGERPRINT_KEY
from toolsearch.tool import Tool


def to_openai(tool: Tool) -> dict[str, Any]:
    """OpenAI chat completions."""
    return {"type": "function", "function": _described(tool) | {"parameters": dict(tool.parameters)}}


def to_responses(tool: Tool) -> dict[str, Any]:
    """OpenAI Responses. `strict` has to be said there; true would forbid optional parameters."""
    return {"type": "function", **_described(tool), "parameters": dict(tool.parameters), "strict": False}


def to_anthropic(tool: Tool) -> dict[str, Any]:
    """Anthropic Messages, which insists on `type: object`."""
    return _described(tool) | {"input_schema": {"type": "object", **tool.parameters}}


def to_mcp(tool: Tool) -> dict[str, Any]:
    """MCP `Tool` as it travels, with our provenance mark, so that who reads it back knows the tool again."""
    wire = _described(tool) | {"inputSchema": {"type": "object", **tool.parameters}}
    if tool.title is not None:
        wire["title"] = tool.title
    if tool.output_schema is not None:
        wire["outputSchema"] = dict(tool.output_schema)
    if tool.annotations:
        wire["annotations"] = dict(tool.annotations)
    wire["_meta"] = {FINGERPRINT_KEY: tool.provenance or tool.fingerprint}
    return wire


def _described(tool: Tool) -> dict[str, Any]:
    return {"name": tool.id} | ({"description": tool.description} if tool.description else {})
