"""One story, told in every message shape.

A story is a list of turns: a string is what the user says; a list is one assistant turn of calls with their results.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Exchange:
    """A call and the result that answers it."""

    id: str
    tool: str
    arguments: dict[str, Any]
    payload: Any


Turn: TypeAlias = "str | list[Exchange]"
Story: TypeAlias = Sequence[Turn]


def neutral(story: Story) -> list[Any]:
    messages: list[Any] = []
    for turn in story:
        if isinstance(turn, str):
            messages.append({"role": "user", "content": turn})
            continue
        calls = [{"id": one.id, "name": one.tool, "arguments": one.arguments} for one in turn]
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_call_id": one.id, "name": one.tool, "content": json.dumps(one.payload)}
            for one in turn
        ]
    return messages


def openai_chat(story: Story) -> list[Any]:
    messages: list[Any] = []
    for turn in story:
        if isinstance(turn, str):
            messages.append({"role": "user", "content": [{"type": "text", "text": turn}]})
            continue
        calls = [
            {"id": one.id, "type": "function", "function": {"name": one.tool, "arguments": json.dumps(one.arguments)}}
            for one in turn
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": one.id, "content": json.dumps(one.payload)} for one in turn]
    return messages


def openai_responses(story: Story) -> list[Any]:
    items: list[Any] = []
    for turn in story:
        if isinstance(turn, str):
            items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": turn}]})
            continue
        items += [
            {"type": "function_call", "call_id": one.id, "name": one.tool, "arguments": json.dumps(one.arguments)}
            for one in turn
        ]
        items += [
            {"type": "function_call_output", "call_id": one.id, "output": json.dumps(one.payload)} for one in turn
        ]
    return items


def anthropic(story: Story) -> list[Any]:
    messages: list[Any] = []
    for turn in story:
        if isinstance(turn, str):
            messages.append({"role": "user", "content": turn})
            continue
        uses = [{"type": "tool_use", "id": one.id, "name": one.tool, "input": one.arguments} for one in turn]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": one.id,
                "content": [{"type": "text", "text": json.dumps(one.payload)}],
            }
            for one in turn
        ]
        messages += [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    return messages


def as_objects(messages: Sequence[Any]) -> list[Any]:
    """The same messages as objects with attributes, as the providers' SDKs hand them out."""

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return SimpleNamespace(**{key: convert(inner) for key, inner in value.items()})
        return [convert(inner) for inner in value] if isinstance(value, list) else value

    return [convert(message) for message in messages]


SHAPES: dict[str, Callable[[Story], list[Any]]] = {
    "neutral": neutral,
    "openai chat": openai_chat,
    "openai responses": openai_responses,
    "anthropic": anthropic,
    "openai chat objects": lambda story: as_objects(openai_chat(story)),
    "openai responses objects": lambda story: as_objects(openai_responses(story)),
    "anthropic objects": lambda story: as_objects(anthropic(story)),
}


def load(call_id: str, *loaded: str, already: Sequence[str] = (), not_found: Sequence[str] = ()) -> Exchange:
    payload = {
        "success": not not_found,
        "message": "",
        "loaded": list(loaded),
        "already_loaded": list(already),
        "not_found": list(not_found),
        "loaded_count": len(loaded),
    }
    return Exchange(call_id, "load_tool", {"tool_names": [*loaded, *already, *not_found]}, payload)


def search(call_id: str, *found: str, activation: Any = None) -> Exchange:
    payload: dict[str, Any] = {"results": [{"name": name, "description": "", "score": 0.5} for name in found]}
    if activation is not None:
        payload["activation"] = activation
    return Exchange(call_id, "search_tools", {"query": "anything"}, payload)


def activate(call_id: str, *names: str) -> Exchange:
    return search(call_id, *names, activation={"type": "tool-search-auto-load", "version": 1, "loaded": list(names)})


def unload(call_id: str, *names: str) -> Exchange:
    return Exchange(call_id, "unload_tool", {"tool_names": list(names)}, {"success": True, "unloaded": list(names)})
