"""What things cost in tokens: definitions, messages of every shape, transcripts."""

import builtins
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from conversations import SHAPES, Exchange, Story, load, neutral
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolsearch import tokens
from toolsearch.tokens import (
    FILE_TOKENS,
    FRAME_TOKENS,
    IMAGE_TOKENS,
    REPLY_TOKENS,
    TokenCounter,
    default_counter,
    estimate,
    message_tokens,
    tool_tokens,
    tools_tokens,
    transcript_tokens,
)
from toolsearch.tool import Tool

SCHEMA = {"type": "object", "properties": {"to": {"type": "string", "description": "Whom"}}, "required": ["to"]}
WIRE = json.dumps(
    {"name": "send_mail", "description": "Send a mail", "parameters": SCHEMA}, separators=(",", ":"), ensure_ascii=False
)
PICTURE = "iVBORw0KGgo" * 10_000


def letters(text: str) -> int:
    """One token a character: every figure can be counted by hand."""
    return len(text)


# Counters


@pytest.mark.parametrize(
    ("text", "count"), [("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7), ("お誕生日おめでとう", 8), ("", 0)]
)
def test_the_default_counter_is_o200k(text: str, count: int) -> None:
    # The figures that "How to count tokens with tiktoken" of the OpenAI Cookbook gives for o200k_base.
    assert default_counter()(text) == count


def test_special_tokens_in_a_text_are_text() -> None:
    assert default_counter()("<|endoftext|>") > 1


def test_the_default_counter_takes_texts_that_the_tokenizer_refuses() -> None:
    words = "word " * 250_000
    assert default_counter()(words) == 250_001
    assert default_counter()("é" * 300_000) == 300_000
    assert default_counter()("\ud800") > 0


@given(st.lists(st.sampled_from(["word", "Wörter", "12345", "文字", "a,b", "\n", "  ", "x" * 60]), max_size=60))
def test_a_text_counted_in_pieces_counts_almost_the_same(words: list[str]) -> None:
    text = " ".join(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_CHUNK", 50)
        pieces = list(tokens._pieces(text))
    counts = [default_counter()(piece) for piece in pieces]
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 50
    assert sum(counts) - default_counter()(text) <= 2 * (len(pieces) - 1)


def test_without_the_tokenizer_tokens_are_estimated_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real_import = builtins.__import__

    def without_bpe(name: str, *rest: Any, **more: Any) -> Any:
        if name == "bpe_openai":
            raise ImportError(name)
        return real_import(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_bpe)
    with caplog.at_level(logging.INFO, "toolsearch.tokens"):
        assert default_counter.__wrapped__() is estimate
    assert "toolsearch[tokens]" in caplog.text


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [
        (WIRE, 0.15),
        ("Create a new issue in the repository and assign it to a person.", 0.15),
        ("使用必应搜索指定的关键词，并返回搜索结果列表，包括标题、链接、摘要和标识", 0.3),
        ("指定されたキーワードで検索し、結果の一覧を返します", 0.5),
        ("지정된 키워드로 검색하고 결과 목록을 반환합니다", 0.3),
        ("Erstellt eine neue Aufgabe und weist sie einer Person zu", 0.3),
        ("2026-11-30T12:34:56Z, 192.168.0.1, 1234567890", 0.3),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_estimate_is_near_the_real_count(text: str, tolerance: float) -> None:
    assert estimate(text) == pytest.approx(default_counter()(text), rel=tolerance)


@given(st.text(max_size=200))
def test_the_estimate_of_a_text_is_positive_and_of_none_zero(text: str) -> None:
    assert (estimate(text) > 0) == bool(text)


# Tools


class _Function(BaseModel):
    name: str
    description: str
    parameters: dict[str, Any]


@pytest.mark.parametrize(
    "definition",
    [
        Tool(name="send_mail", description="Send a mail", parameters=SCHEMA),
        Tool(id="send_mail", name="send", description="Send a mail", parameters=SCHEMA),
        {"name": "send_mail", "description": "Send a mail", "parameters": SCHEMA},
        {
            "type": "function",
            "function": {"name": "send_mail", "description": "Send a mail", "parameters": SCHEMA, "strict": True},
        },
        {"type": "function", "name": "send_mail", "description": "Send a mail", "parameters": SCHEMA, "strict": True},
        {"name": "send_mail", "description": "Send a mail", "input_schema": SCHEMA, "defer_loading": True},
        {"name": "send_mail", "description": "Send a mail", "inputSchema": SCHEMA, "annotations": {}},
    ],
    ids=["tool", "tool with id", "plain", "openai chat", "openai responses", "anthropic", "mcp"],
)
def test_a_tool_costs_the_compact_json_of_its_definition(definition: object) -> None:
    assert tool_tokens(definition, letters) == len(WIRE)


def test_a_callable_costs_what_its_tool_costs() -> None:
    def send_mail(to: str) -> None:
        """Send a mail."""

    wire = {"name": "send_mail", "description": "Send a mail.", "parameters": None}
    cost = tool_tokens(send_mail, letters)
    assert cost > len(json.dumps(wire))
    assert tool_tokens(send_mail, letters, name="send_mail_now") == cost + len("_now")


def test_text_beyond_ascii_is_not_escaped() -> None:
    assert tool_tokens(Tool(name="a", description="搜索"), letters) == tool_tokens(
        Tool(name="a", description="ab"), letters
    )


def test_a_providers_own_tool_costs_its_json() -> None:
    assert tool_tokens({"type": "web_search"}, letters) == len('{"type":"web_search"}')


def test_a_namespace_costs_all_its_functions() -> None:
    function = {"type": "function", "name": "send_mail", "description": "Send a mail", "parameters": SCHEMA}
    namespace = {"type": "namespace", "name": "mail", "description": "", "tools": [function, {**function, "name": "b"}]}
    assert tool_tokens(namespace, letters) >= 2 * len(WIRE) - len("send_mail")


@pytest.mark.parametrize("junk", [None, 7, object(), {"name": 7}, {"name": "a", "parameters": {"a": {1, 2}}}, ""])
def test_what_is_no_tool_costs_something_and_does_not_raise(junk: object) -> None:
    assert tool_tokens(junk, letters) >= 0


def test_tools_cost_their_sum_by_name_or_in_a_row() -> None:
    tool = Tool(name="send_mail", description="Send a mail", parameters=SCHEMA)
    assert tools_tokens({"send_mail": tool}, letters) == tools_tokens([tool], letters) == len(WIRE)
    assert tools_tokens((), letters) == 0


# Messages


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"role": "user", "content": ["hello"]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "hel"}, {"type": "input_text", "text": "lo"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]},
        {"role": "developer", "content": "hello"},
        {"role": "tool", "tool_call_id": "1", "content": "hello"},
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "hello"}}]},
        SimpleNamespace(role="assistant", content="hello", tool_calls=None, function_call=None),
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "hel", "arguments": "lo"}]},
        {"role": "assistant", "content": None, "function_call": {"name": "hel", "arguments": "lo"}},
        {"type": "function_call", "call_id": "1", "name": "hel", "arguments": "lo"},
        {"type": "function_call_output", "call_id": "1", "output": "hello"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "hello"}]},
    ],
    ids=str,
)
def test_a_message_costs_its_text_and_one_frame(message: object) -> None:
    assert message_tokens(message, letters) == FRAME_TOKENS + len("hello")


def test_a_message_without_content_costs_its_frame() -> None:
    assert message_tokens({"role": "assistant", "content": ""}, letters) == FRAME_TOKENS
    assert message_tokens({"role": "assistant", "content": None}, letters) == FRAME_TOKENS


def test_each_call_of_a_turn_has_a_frame_beside_what_is_said() -> None:
    block = {"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "hello"}, block, block]}
    assert message_tokens(message, letters) == 3 * FRAME_TOKENS + len("hello") + 2 * len('add{"a":1}')


def test_a_story_costs_the_same_in_every_shape() -> None:
    story: Story = ["hi", [load("1", "send_mail"), Exchange("2", "add", {}, 3)], "thanks"]
    costs = {shape: transcript_tokens(tell(story), letters) for shape, tell in SHAPES.items()}
    # Mappings are counted as compact JSON, strings as they were sent.
    sent = len('{"tool_names": ["send_mail"]}') - len('{"tool_names":["send_mail"]}')
    compact = costs["neutral"]
    spaced = compact + sent
    assert costs == {
        "neutral": compact,
        "openai chat": spaced,
        "openai responses": spaced,
        "anthropic": compact,
        "openai chat objects": spaced,
        "openai responses objects": spaced,
        "anthropic objects": compact,
    }


@pytest.mark.parametrize(
    ("block", "cost"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + PICTURE}}, IMAGE_TOKENS),
        ({"type": "input_image", "image_url": "data:image/png;base64," + PICTURE}, IMAGE_TOKENS),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}, IMAGE_TOKENS),
        ({"type": "image", "data": PICTURE, "mimeType": "image/png"}, IMAGE_TOKENS),
        ({"type": "input_file", "file_data": PICTURE, "filename": "a.pdf"}, FILE_TOKENS),
        ({"type": "file", "file": {"file_data": PICTURE}}, FILE_TOKENS),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PICTURE}},
            FILE_TOKENS,
        ),
        ({"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}}, FILE_TOKENS),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_images_and_files_cost_a_flat_figure(block: Any, cost: int) -> None:
    assert message_tokens({"role": "user", "content": [block]}, letters) == FRAME_TOKENS + cost
    result = {"type": "tool_result", "tool_use_id": "1", "content": [block]}
    assert message_tokens({"role": "user", "content": [result]}, letters) == FRAME_TOKENS + cost


def test_payloads_inside_parts_of_unknown_kinds_are_not_counted_as_text() -> None:
    class Shot(BaseModel):
        data: str
        mime_type: str

    blocks = [
        {"type": "odd", "data": PICTURE, "mediaType": "image/png"},
        {"type": "odd", "inside": {"type": "image", "source": {"data": PICTURE}}},
        {"type": "odd", "url": "data:application/pdf;base64," + PICTURE},
        {"type": "odd", "raw": PICTURE.encode()},
        {"type": "odd", "shots": [Shot(data=PICTURE, mime_type="image/png")]},
    ]
    costs = [message_tokens({"role": "user", "content": [block]}, letters) for block in blocks]
    flat = [IMAGE_TOKENS, IMAGE_TOKENS, FILE_TOKENS, FILE_TOKENS, IMAGE_TOKENS]
    assert [cost - figure < 60 for cost, figure in zip(costs, flat, strict=True)] == [True] * 5


def test_sealed_thoughts_cost_by_their_decoded_size() -> None:
    sealed = [
        {"type": "reasoning", "encrypted_content": "A" * 1600},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "A" * 1600}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "A" * 1600}]},
    ]
    assert [300 <= message_tokens(message, letters) < 350 for message in sealed] == [True] * 3


def test_what_no_json_can_hold_costs_as_much_as_a_file() -> None:
    endless: dict[str, Any] = {"type": "odd"}
    endless["self"] = endless
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert message_tokens({"role": "user", "content": [endless]}, letters) == FRAME_TOKENS + FILE_TOKENS
    assert (
        message_tokens({"role": "user", "content": [{"type": "odd", "deep": deep}]}, letters)
        == FRAME_TOKENS + FILE_TOKENS
    )


def test_objects_that_hide_everything_still_cost_something() -> None:
    class Trap:
        @property
        def model_dump(self) -> Any:
            raise RuntimeError

    assert message_tokens({"role": "user", "content": [Trap()]}, letters) == FRAME_TOKENS + len('"Trap"')
    assert message_tokens({"role": "user", "content": [BaseModel]}, letters) == FRAME_TOKENS + len('"ModelMetaclass"')
    assert message_tokens({"role": "user", "content": [1.5]}, letters) == FRAME_TOKENS + len("1.5")


def test_a_transcript_costs_its_messages_its_tools_and_the_opening_of_the_reply() -> None:
    tool = Tool(name="send_mail", description="Send a mail", parameters=SCHEMA)
    counter: TokenCounter = letters
    assert transcript_tokens([], counter) == REPLY_TOKENS
    assert transcript_tokens(neutral(["hi", "ho"]), counter, tools=[tool]) == REPLY_TOKENS + 2 * (
        FRAME_TOKENS + 2
    ) + len(WIRE)
