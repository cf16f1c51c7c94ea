"""Tokens: what a tool definition, a message, a transcript costs a model to read.

The counter is a parameter everywhere, for every model family splits text in its own way. What is no text, and what a
provider wraps around the text, is counted by the documented flat figures below.
"""

import json
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from toolsearch.catalog import as_tools_leniently
from toolsearch.messages import FILE_KINDS, IMAGE_KINDS, Call, Media, Opaque, Part, Result, Text, read_message
from toolsearch.tool import Tool

TokenCounter: TypeAlias = Callable[[str], int]
"""Tokens of one text; never negative, 0 for the empty text, safe to share between threads."""

FRAME_TOKENS = 4
"""Around each message, call and result: three delimiters and the role (OpenAI Cookbook, "How to count tokens with tiktoken")."""

REPLY_TOKENS = 3
"""Once a transcript: the delimiters that open the model's reply (the same source)."""

IMAGE_TOKENS = 1_600
"""One image, whatever its size: what Claude models bill at most for one scaled to 1568 pixels (width x height / 750).

OpenAI's models bill 765 for 1024 x 1024 pixels; models that read larger images bill more than this figure."""

FILE_TOKENS = 3_000
"""One file, whatever its size: the upper figure Anthropic gives for the text of one PDF page (1,500 to 3,000)."""

_CHUNK = 50_000
"""Characters given to the tokenizer at once: it refuses a million of them, and more than 200,000 tokens."""

_PAYLOAD_KEYS = ("media_type", "mediaType", "mime_type", "mimeType")
_SEALED_KEYS = ("signature", "encrypted_content")

_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_DENSE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # kana, Han, Hangul
_WORDS = re.compile(f"[{_LATIN}]+")
_LONG_WORDS = re.compile(f"[{_LATIN}]{{9,}}")
_NUMBERS = re.compile("[0-9]{1,3}")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~\n]+")
_DENSE_LETTERS = re.compile(f"[{_DENSE}]")
_OTHER_LETTERS = re.compile(f"[^\x00-\x7f{_LATIN}{_DENSE}]")

_log = logging.getLogger(__name__)


@cache
def default_counter() -> TokenCounter:
    """The o200k tokenizer of `bpe-openai` where that is installed (`toolsearch[tokens]`), else `estimate`.

    The first call loads the tokenizer's tables: about two CPU-seconds, once a process.
    """
    with warnings.catch_warnings():
        # It reads its tables by a function that importlib.resources deprecated for a while; its caller cannot mend that.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            import bpe_openai  # noqa: PLC0415 - loads 150 MB of tables
        except ImportError:
            _log.info("bpe-openai is not installed: tokens are estimated. toolsearch[tokens] installs it.")
            return estimate
        encoding = bpe_openai.get_encoding("o200k_base")

    def o200k(text: str) -> int:
        """Tokens of `o200k_base`; exact up to 50,000 characters, then off by a token or so per 50,000 at most."""
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))

    return o200k


def estimate(text: str) -> int:
    """About as many tokens as o200k would find, from the words, numbers and signs of the text alone.

    Measured against o200k: the definitions of 6,336 real MCP tools cost 1.4 % more in all, and one is off by 5.3 % on
    average (nine of ten lie between -10 % and +11 %). Short texts in other languages: Chinese +5 % in all and 15 % each,
    Korean +5 and 12, Hindi +4 and 10, French +2 and 11, German -7 and 11, Japanese +10 and 15, Arabic +11 and 15,
    Russian +39 and 42.
    """
    if not text:
        return 0
    long_words = _LONG_WORDS.findall(text)
    # o200k gives a word a token, a long one more; digits go by threes, signs stick together, and of the alphabets
    # it knows less well it reads one to three letters at a time.
    tokens = (
        1.15 * len(_WORDS.findall(text))
        + 0.35 * (sum(map(len, long_words)) - 8 * len(long_words))
        + 1.0 * len(_NUMBERS.findall(text))
        + 0.65 * len(_SIGNS.findall(text))
        + 0.8 * len(_DENSE_LETTERS.findall(text))
        + 0.4 * len(_OTHER_LETTERS.findall(text))
    )
    return max(1, round(tokens))


def tool_tokens(tool: object, counter: TokenCounter, *, name: str | None = None) -> int:
    """What a tool costs in the prompt: its name, description and parameters as compact JSON.

    Takes a `Tool`, a definition in any shape a catalog reads, a callable, or a namespace of several functions; `name`
    is its callable name where it has none of its own. What is none of these (a provider's own tool, such as a web
    search) costs the JSON of itself.
    """
    if isinstance(tool, Tool):
        return counter(_wire(tool))
    tools, wrong = as_tools_leniently({name: tool} if name else [tool])
    return _weight(tool, counter) if wrong else sum(counter(_wire(one)) for one in tools)


def tools_tokens(tools: Mapping[str, object] | Iterable[object], counter: TokenCounter) -> int:
    """What a step's tools cost, given as `tool_tokens` takes them, by name or in a row."""
    if isinstance(tools, Mapping):
        return sum(tool_tokens(tool, counter, name=name) for name, tool in tools.items())
    return sum(tool_tokens(tool, counter) for tool in tools)


def message_tokens(message: object, counter: TokenCounter) -> int:
    """What one message of any shape costs: its texts, calls and results, each with its frame.

    Images and files cost their flat figure, and an encoded payload is never counted as text. Ids are part of the frame.
    """
    parts = [part for part in read_message(message).parts if part != Text(part.role, "")]
    framed = [part for part in parts if isinstance(part, Call | Result)]
    frames = len(framed) + (len(framed) < len(parts) or not parts)
    return FRAME_TOKENS * frames + sum(_part_tokens(part, counter) for part in parts)


def transcript_tokens(
    messages: Iterable[object], counter: TokenCounter, *, tools: Mapping[str, object] | Iterable[object] = ()
) -> int:
    """What a model reads before it answers: the tools, the messages, and the opening of its reply."""
    return REPLY_TOKENS + tools_tokens(tools, counter) + sum(message_tokens(message, counter) for message in messages)


def _part_tokens(part: Part, counter: TokenCounter) -> int:
    match part:
        case Text():
            return counter(part.text)
        case Media():
            return IMAGE_TOKENS if part.kind == "image" else FILE_TOKENS
        case Opaque():
            return _weight(part.value, counter)
        case Call():
            sent = counter(part.sent) if isinstance(part.sent, str) else _weight(part.sent, counter)
            return counter(part.name) + sent
        case Result():
            return sum(_part_tokens(inner, counter) for inner in part.content)


def _wire(tool: Tool) -> str:
    definition = {"name": tool.id, "description": tool.description, "parameters": tool.parameters}
    return json.dumps(definition, ensure_ascii=False, separators=(",", ":"), default=str)


def _weight(value: object, counter: TokenCounter) -> int:
    """What a value costs as compact JSON, payloads by their flat figures; unwritable ones, as one file."""
    flat: list[int] = []
    try:
        written = json.dumps(_lean(value, flat), ensure_ascii=False, separators=(",", ":"), skipkeys=True)
    except (ValueError, RecursionError):  # it contains itself, or is nested beyond reason
        return FILE_TOKENS
    return sum(flat) + (counter(written) if written != "null" else 0)


def _lean(value: Any, flat: list[int]) -> Any:
    """The value without its payloads, whose flat costs are appended to `flat`."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            if value.startswith("data:") and ";base64," in value[:200]:
                flat.append(IMAGE_TOKENS if value.startswith("data:image/") else FILE_TOKENS)
                return None
            return value
        case bytes() | bytearray():
            flat.append(FILE_TOKENS)
            return None
        case Mapping():
            return _lean_mapping(value, flat)
        case list() | tuple() | set() | frozenset():
            return [_lean(inner, flat) for inner in value]
    fields = _fields(value)
    return type(value).__name__ if fields is None else _lean_mapping(fields, flat)


def _lean_mapping(value: Mapping[Any, Any], flat: list[int]) -> Any:
    kind = value.get("type")
    if isinstance(kind, str) and kind in IMAGE_KINDS | FILE_KINDS:
        flat.append(IMAGE_TOKENS if kind in IMAGE_KINDS else FILE_TOKENS)
        return None
    payload: str | None = None
    mime = next((value[key] for key in _PAYLOAD_KEYS if isinstance(value.get(key), str)), None)
    if mime is not None and isinstance(value.get("data"), str):
        payload = "data"
        flat.append(IMAGE_TOKENS if mime.startswith("image/") else FILE_TOKENS)
    kept: dict[Any, Any] = {}
    for key, inner in value.items():
        sealed = key in _SEALED_KEYS or (key == "data" and kind == "redacted_thinking")
        if sealed and isinstance(inner, str):
            # Base64 of thoughts that the provider opens again: three bytes in four characters, four bytes a token.
            flat.append(len(inner) * 3 // 16)
        elif key != payload:
            kept[key] = _lean(inner, flat)
    return kept


def _fields(value: object) -> Mapping[str, Any] | None:
    """The attributes of a foreign object, where it shows them."""
    try:
        dump = getattr(value, "model_dump", None)
        fields = dump() if callable(dump) else vars(value)
    except Exception:  # noqa: BLE001 - a foreign object may raise anything, and a count must come out
        return None
    return fields if isinstance(fields, dict) else None


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces short enough for the tokenizer, cut before a space where there is one: tokens begin there."""
    start = 0
    while len(text) - start > _CHUNK:
        space = text.rfind(" ", start + 1, start + _CHUNK)
        end = space if space > start else start + _CHUNK
        yield text[start:end]
        start = end
    yield text[start:]
