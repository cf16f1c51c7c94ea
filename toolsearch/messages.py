"""One message of a conversation, read as neutral parts whatever shape it came in.

Four shapes are read, as mappings or as objects with the same attributes (the providers' own SDK classes, pydantic models):
our neutral messages, OpenAI chat completions, OpenAI Responses items, and Anthropic Messages.
Who may say what is decided here, by structure alone: calls come from the assistant, results answer in the place
their shape gives to results, and everything else is text.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Role = Literal["system", "user", "assistant", "tool", "unknown"]
"""Who speaks; `developer` counts as system, `unknown` is a message of no shape above."""

_TEXT_KINDS = frozenset({"text", "input_text", "output_text", "refusal", "summary_text"})
IMAGE_KINDS = frozenset({"image", "image_url", "input_image"})
FILE_KINDS = frozenset({"file", "input_file", "document", "audio", "input_audio", "video"})
_ITEM_KINDS = frozenset({"reasoning", "item_reference", "compaction", "mcp_list_tools", "mcp_approval_request"})
_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",  # the name of tool messages before tool_calls existed
}


@dataclass(frozen=True, slots=True)
class Text:
    """Something said."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Media:
    """An image or a file; its payload is never read."""

    role: Role
    kind: Literal["image", "file"]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part of a kind not read here: it costs tokens and says nothing."""

    role: Role
    value: Any


@dataclass(frozen=True, slots=True)
class Call:
    """The assistant calls a tool."""

    role: Role
    id: str | None
    """None where the message gives no id that a result could name."""
    name: str
    """Empty for what is not a function of ours: provider tools, custom tools."""
    sent: Any
    """The arguments as they stand in the message: a JSON string or a mapping."""

    @property
    def arguments(self) -> Any:
        """The arguments, decoded where they are JSON."""
        return _decoded(self.sent) if isinstance(self.sent, str) else self.sent


@dataclass(frozen=True, slots=True)
class Result:
    """A tool answers a call."""

    role: Role
    id: str | None
    """The id of the call it answers."""
    name: str | None
    """The tool, where the message names it."""
    content: tuple["Text | Media | Opaque", ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        """Its text parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def payload(self) -> Any:
        """The one native value it holds, else its text decoded where that is JSON, else the text."""
        match self.content:
            case (Opaque(value=Mapping() as value),):
                return value
            case _:
                return _decoded(self.text)


Part: TypeAlias = Text | Media | Opaque | Call | Result


@dataclass(frozen=True, slots=True)
class Reading:
    """One message: who speaks, and the parts of it in their order."""

    role: Role
    parts: tuple[Part, ...]
    is_item: bool = False
    """A Responses item without a role, of which several make one turn."""


def read_message(message: object) -> Reading:
    """Read one message; what has none of the known shapes is one opaque part of the role `unknown`."""
    spoken, kind = field(message, "role"), field(message, "type")
    if spoken is None and isinstance(kind, str):
        return _item(message, kind)
    role = _ROLES.get(spoken, "unknown") if isinstance(spoken, str) else "unknown"
    content = field(message, "content")
    match role:
        case "unknown":
            parts: tuple[Part, ...] = (Opaque(role, message),)
        case "tool":
            parts = (_result(message, id_field="tool_call_id", content=content),)
        case "assistant":
            parts = (*_said(role, content), *_calls(message))
        case "user" | "system":
            parts = tuple(_said(role, content))
    return Reading(role, parts)


def field(source: object, name: str) -> Any:
    """A key of a mapping or an attribute of an object; None where there is none or reading it fails."""
    try:
        return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    except Exception:  # noqa: BLE001 - a foreign object's property may raise anything, and a transcript must stay readable
        return None


def _item(item: object, kind: str) -> Reading:
    """An item of OpenAI's Responses API: its kind says who speaks."""
    if kind == "function_call":
        # A function inside a namespace is not the function of that name outside.
        namespace, name = _string(field(item, "namespace")), _string(field(item, "name")) or ""
        call = Call(
            "assistant",
            _string(field(item, "call_id")),
            f"{namespace}.{name}" if namespace else name,
            field(item, "arguments"),
        )
        return Reading("assistant", (call,), is_item=True)
    if kind == "function_call_output":
        return Reading("tool", (_result(item, id_field="call_id", content=field(item, "output")),), is_item=True)
    if kind.endswith("_output"):
        # Naming the kind keeps it from passing for the result of a function.
        result = Result("tool", _string(field(item, "call_id")), kind, (Opaque("tool", item),))
        return Reading("tool", (result,), is_item=True)
    if kind.endswith("_call"):
        call = Call("assistant", _string(field(item, "call_id")), "", item)
        return Reading("assistant", (call,), is_item=True)
    if kind == "mcp_approval_response":
        return Reading("tool", (Opaque("tool", item),), is_item=True)
    role: Role = "assistant" if kind in _ITEM_KINDS else "unknown"
    return Reading(role, (Opaque(role, item),), is_item=True)


def _said(role: Role, content: object) -> Iterator[Part]:
    """The parts of a message's content, Anthropic's calls and results included where their role may give them."""
    if isinstance(content, str):
        yield Text(role, content)
    elif isinstance(content, list | tuple):
        for block in content:
            kind = _string(field(block, "type"))
            if kind == "tool_use" and role == "assistant":
                yield Call(
                    role, _string(field(block, "id")), _string(field(block, "name")) or "", field(block, "input")
                )
            elif kind == "tool_result" and role == "user":
                yield _result(block, id_field="tool_use_id", content=field(block, "content"))
            else:
                yield _block(role, block, kind)
    elif content is not None:
        yield Opaque(role, content)


def _block(role: Role, block: object, kind: str | None) -> Text | Media | Opaque:
    if isinstance(block, str):
        return Text(role, block)
    text = field(block, "text")
    if kind in _TEXT_KINDS and isinstance(text, str):
        return Text(role, text)
    if kind in IMAGE_KINDS:
        return Media(role, "image")
    if kind in FILE_KINDS:
        source = field(block, "source")
        plain = _string(field(source, "type")) == "text"  # Anthropic's document of plain text
        written = field(source, "data") if plain else None
        return Text(role, written) if isinstance(written, str) else Media(role, "file")
    return Opaque(role, block)


def _calls(message: object) -> Iterator[Call]:
    """`tool_calls` of a chat message, ours (flat) and OpenAI's (under `function`), and the older `function_call`."""
    calls = field(message, "tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        call_id, kind, function = _string(field(call, "id")), field(call, "type"), field(call, "function")
        if kind is not None and _string(kind) != "function":
            yield Call("assistant", call_id, "", call)
            continue
        body = call if function is None else function
        yield Call("assistant", call_id, _string(field(body, "name")) or "", field(body, "arguments"))
    older = field(message, "function_call")
    if older is not None:
        yield Call("assistant", None, _string(field(older, "name")) or "", field(older, "arguments"))


def _result(source: object, *, id_field: str, content: object) -> Result:
    is_error = field(source, "is_error")
    parts = tuple(part for part in _said("tool", content) if isinstance(part, Text | Media | Opaque))
    failed = is_error is not None and is_error is not False
    return Result("tool", _string(field(source, id_field)), _string(field(source, "name")), parts, failed)


def _string(value: object) -> str | None:
    """A non-empty string, else None: an empty id or name names nothing."""
    return value if isinstance(value, str) and value else None


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # not JSON, a number of too many digits, or nested beyond reason
        return text
