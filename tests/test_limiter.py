"""What a token limit keeps and drops, and the chain that ends with it."""

import copy
import logging
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import pytest
from conversations import SHAPES, Exchange, Story, load, neutral, openai_chat
from fakes import WordEncoder
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import MessageError, OptionError, TokenLimitError
from toolsearch.limiter import Dropped, Limited, ProcessorChain, TokenLimiter
from toolsearch.messages import Call, Result, read_message
from toolsearch.processor import StepResult, ToolSearchProcessor
from toolsearch.tokens import REPLY_TOKENS, default_counter, message_tokens, transcript_tokens
from toolsearch.tool import Tool
from toolsearch.transcript import loaded_names
from toolsearch.turns import turns_of

SYSTEM = {"role": "system", "content": "be kind"}
MAIL = Tool(name="send_mail", description="Send a mail")


def letters(text: str) -> int:
    return len(text)


def limiter(limit: int) -> TokenLimiter:
    return TokenLimiter(limit, counter=letters)


def cost(messages: Any, tools: Any = ()) -> int:
    return transcript_tokens(messages, letters, tools=tools)


def called(call_id: str, text: str = "") -> Exchange:
    return Exchange(call_id, "add", {}, text)


@pytest.fixture(params=SHAPES)
def tell(request: pytest.FixtureRequest) -> Any:
    return SHAPES[request.param]


# What is kept


def test_what_fits_is_kept_whole() -> None:
    messages = [SYSTEM, *neutral(["one", "two"])]
    assert limiter(cost(messages)).limit(messages) == Limited(messages, Dropped(0, 0), cost(messages))


def test_the_oldest_messages_go_first(tell: Any) -> None:
    messages = tell(["one", "two", "three"])
    assert limiter(cost(messages) - 1).limit(messages).messages == messages[1:]


def test_what_was_dropped_is_said_in_the_result_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    messages = neutral(["one", "two", "three"])
    with caplog.at_level(logging.INFO, "toolsearch.limiter"):
        limited = limiter(cost(messages[2:])).limit(messages)
    assert limited.dropped == Dropped(2, sum(message_tokens(message, letters) for message in messages[:2]))
    assert limited.tokens == cost(messages[2:])
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert f"Dropped the 2 oldest messages ({limited.dropped.tokens} tokens)" in caplog.text


def test_nothing_dropped_nothing_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolsearch.limiter"):
        limiter(1_000).limit(neutral(["one"]))
    assert not caplog.records


def test_an_old_message_that_would_fit_does_not_jump_over_one_that_does_not() -> None:
    messages = neutral(["a", "b" * 100, "c"])
    assert limiter(cost([messages[0], messages[2]])).limit(messages).messages == messages[2:]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_system_messages_stay_wherever_they_stand(role: str) -> None:
    one, two, three = neutral(["one", "two", "three"])
    first, middle = {"role": role, "content": "first"}, {"role": role, "content": "middle"}
    kept = [first, middle, three]
    assert limiter(cost(kept)).limit([first, one, middle, two, three]).messages == kept


def test_a_call_is_never_parted_from_its_result(tell: Any) -> None:
    messages = tell(["old", [called("1", "a long result" * 9)], "new"])
    limit = cost(messages[2:])  # the result would fit, its call would not
    assert limiter(limit).limit(messages).messages == messages[-1:]


def test_the_calls_of_one_turn_and_all_their_results_go_together(tell: Any) -> None:
    messages = tell([[called("1"), called("2"), called("3")], "new"])
    assert [limiter(limit).limit(messages).messages for limit in (cost(messages) - 1, cost(messages[-1:]))] == [
        messages[-1:]
    ] * 2


def test_calls_of_different_turns_go_one_after_the_other(tell: Any) -> None:
    messages = tell([[called("1")], [called("1")], "new"])
    half = len(messages) // 2
    assert limiter(cost(messages) - 1).limit(messages).messages == messages[half:]


def test_what_stands_between_a_call_and_its_result_stays_with_them() -> None:
    call, result = neutral([[called("1")]])
    said, new = neutral(["hurry", "new"])
    assert turns_of([call, SYSTEM, said, result, new]).groups == ((0, 2, 3), (4,))


def test_a_second_result_of_one_call_stays_with_the_call() -> None:
    call, result = neutral([[called("1")]])
    said, new = neutral(["thanks", "new"])
    assert turns_of([call, result, said, result, new]).groups == ((0, 1, 2, 3), (4,))


def test_an_orphan_result_never_leads_what_is_kept(tell: Any) -> None:
    orphan = tell([[called("1")]])[1:]
    old, new = tell(["old", "new"])
    messages = [old, *orphan, new]
    for limit in range(cost([new]), cost(messages)):
        assert limiter(limit).limit(messages).messages == [new]


def test_results_of_the_old_function_role_stay_with_their_call() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "{}"}}
    result = {"role": "function", "name": "add", "content": "3"}
    assert turns_of([*neutral(["a"]), call, result, *neutral(["b"])]).groups == ((0,), (1, 2), (3,))


def test_responses_items_of_one_assistant_turn_go_together() -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": []}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I will."}]}
    call, result = SHAPES["openai responses"]([[called("1")]])
    items = [*neutral(["a"]), reasoning, said, call, result, reasoning, said, *neutral(["b"])]
    assert turns_of(items).groups == ((0,), (1, 2, 3, 4), (5, 6), (7,))


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ({"type": "computer_call", "call_id": "1"}, {"type": "computer_call_output", "call_id": "1", "output": {}}),
        ({"type": "tool_search_call", "call_id": "1"}, {"type": "tool_search_output", "call_id": "1", "tools": []}),
        ({"type": "local_shell_call", "call_id": "1"}, {"type": "local_shell_call_output", "id": "1", "output": ""}),
        ({"type": "mcp_approval_request", "id": "1"}, {"type": "mcp_approval_response", "approval_request_id": "1"}),
    ],
    ids=lambda item: item["type"],
)
def test_responses_calls_of_other_kinds_keep_their_answers(call: Any, answer: Any) -> None:
    assert turns_of([*neutral(["a"]), call, answer, *neutral(["b"])]).groups == ((0,), (1, 2), (3,))


def test_a_call_nobody_answered_stands_alone() -> None:
    call, _ = neutral([[called("1")]])
    assert turns_of([call, *neutral(["a"])]).groups == ((0,), (1,))


def test_consecutive_chat_messages_of_the_assistant_are_groups_of_their_own() -> None:
    said = {"role": "assistant", "content": "well"}
    assert turns_of([said, said, *neutral(["a"])]).groups == ((0,), (1,), (2,))


# The last turn and the limit


def test_the_last_user_message_and_all_after_it_stay(tell: Any) -> None:
    story: Story = ["old", "do it", [called("1")], [called("2")]]
    messages = tell(story)
    assert limiter(cost(messages[1:])).limit(messages).messages == messages[1:]
    with pytest.raises(TokenLimitError) as caught:
        limiter(cost(messages[1:]) - 1).limit(messages)
    assert (caught.value.limit, caught.value.needed) == (cost(messages[1:]) - 1, cost(messages[1:]))


def test_tool_results_are_no_user_message(tell: Any) -> None:
    messages = tell(["do it", [called("1")]])
    assert turns_of(messages).last == 0


def test_a_user_message_that_brings_results_and_speaks_keeps_its_calls() -> None:
    call, results = SHAPES["anthropic"]([[called("1")]])
    results["content"].append({"type": "text", "text": "and now?"})
    turns = turns_of([*neutral(["old"]), call, results])
    assert (turns.groups, turns.last) == (((0,), (1, 2)), 1)


def test_without_a_user_message_the_newest_group_stays(tell: Any) -> None:
    messages = tell([[called("1")], [called("2")]])
    half = len(messages) // 2
    assert limiter(cost(messages[half:])).limit(messages).messages == messages[half:]


def test_tool_definitions_and_system_messages_count() -> None:
    messages = [SYSTEM, *neutral(["one", "two"])]
    beside = {"role": "system", "content": "use the tools"}
    full = cost([*messages, beside], tools=[MAIL])
    for limit, kept in ((full, messages), (full - 1, [messages[0], messages[2]])):
        limited = limiter(limit).limit(messages, tools={"send_mail": MAIL}, system_messages=["use the tools"])
        assert limited.messages == kept
        assert limited.tokens == cost([*kept, beside], tools=[MAIL])


def test_a_system_text_that_stands_among_the_messages_counts_once() -> None:
    messages = [SYSTEM, *neutral(["one"])]
    assert limiter(1_000).limit(messages, system_messages=["be kind"]).tokens == cost(messages)


def test_what_may_not_be_dropped_over_the_limit_is_an_error_with_both_figures() -> None:
    messages = [SYSTEM, *neutral(["old", "new"])]
    needed = cost([SYSTEM, messages[2]], tools=[MAIL])
    with pytest.raises(TokenLimitError, match=f"need {needed} tokens and the limit is {needed - 1}"):
        limiter(needed - 1).limit(messages, tools=[MAIL])


def test_no_messages_are_no_error_while_the_rest_fits() -> None:
    assert limiter(REPLY_TOKENS).limit([]) == Limited([], Dropped(0, 0), REPLY_TOKENS)
    with pytest.raises(TokenLimitError):
        limiter(REPLY_TOKENS).limit([SYSTEM])


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "127000", None])
def test_a_limit_that_is_no_positive_integer_is_refused(limit: Any) -> None:
    with pytest.raises(OptionError, match="limit"):
        TokenLimiter(limit, counter=letters)


@pytest.mark.parametrize("message", [None, "hello", {"role": "stranger", "content": "x"}, {"type": "human"}, object()])
def test_a_message_nobody_can_read_is_an_error_that_names_its_place(message: Any) -> None:
    with pytest.raises(MessageError, match=rf"Message 1 \({type(message).__name__}\)"):
        limiter(1_000).limit([*neutral(["one"]), message])


def test_the_default_counter_is_used_where_none_is_given() -> None:
    messages = neutral(["internationalization"])
    assert TokenLimiter(100).limit(messages).tokens == transcript_tokens(messages, default_counter())


# Properties


@st.composite
def conversations(draw: st.DrawFn) -> list[Any]:
    """Stories in any shape, with system messages and orphan results thrown in anywhere."""
    ids = map(str, range(10_000))
    said = st.sampled_from(["", "hi", "a longer remark"])
    exchange = said.map(lambda text: called(next(ids), text))
    story = draw(st.lists(st.one_of(said, st.lists(exchange, min_size=1, max_size=3)), min_size=1, max_size=7))
    messages: list[Any] = draw(st.sampled_from(list(SHAPES.values())))(story)
    orphan = neutral([[called("lost")]])[1]
    for extra in draw(st.lists(st.sampled_from([SYSTEM, orphan]), max_size=3)):
        messages.insert(draw(st.integers(0, len(messages))), copy.deepcopy(extra))
    return messages


limits = st.integers(1, 400)


def least(messages: list[Any]) -> int:
    """What may not be dropped costs."""
    turns = turns_of(messages)
    kept = {*turns.system, *(place for group in turns.groups[turns.last :] for place in group)}
    return cost([message for place, message in enumerate(messages) if place in kept], tools=[MAIL])


@given(conversations(), limits)
def test_the_limit_is_never_exceeded(messages: list[Any], limit: int) -> None:
    needed = least(messages)
    if needed > limit:
        with pytest.raises(TokenLimitError) as caught:
            limiter(limit).limit(messages, tools=[MAIL])
        assert (caught.value.limit, caught.value.needed) == (limit, needed)
        return
    limited = limiter(limit).limit(messages, tools=[MAIL])
    assert limited.tokens == cost(limited.messages, tools=[MAIL]) <= limit
    assert limited.dropped.tokens == cost(messages, tools=[MAIL]) - limited.tokens
    assert limited.dropped.count == len(messages) - len(limited.messages)


@given(conversations(), st.integers(0, 200))
def test_what_is_kept_is_the_longest_end_that_fits(messages: list[Any], slack: int) -> None:
    limit = least(messages) + slack
    kept = limiter(limit).limit(messages, tools=[MAIL]).messages
    turns = turns_of(messages)
    ends = []
    for first in range(turns.last + 1):
        places = {*turns.system, *(place for group in turns.groups[first:] for place in group)}
        ends.append([message for place, message in enumerate(messages) if place in places])
    fitting = [end for end in ends if cost(end, tools=[MAIL]) <= limit]
    assert [id(message) for message in kept] == [id(message) for message in fitting[0]]


@given(conversations(), st.integers(0, 200))
def test_no_call_is_parted_from_its_results_and_no_orphan_leads(messages: list[Any], slack: int) -> None:
    kept = limiter(least(messages) + slack).limit(messages, tools=[MAIL]).messages
    identities = {id(message) for message in kept}
    sides: dict[str, set[bool]] = {}
    for message in messages:
        for part in read_message(message).parts:
            if isinstance(part, Call | Result) and part.id is not None and part.id != "lost":
                sides.setdefault(part.id, set()).add(id(message) in identities)
    assert all(len(side) == 1 for side in sides.values())
    turn = [message for message in kept if read_message(message).role != "system"]
    if len(kept) < len(messages) and turn:
        first = read_message(turn[0])
        assert not any(isinstance(part, Result) for part in first.parts)


@given(conversations(), st.integers(0, 200))
def test_system_messages_and_the_last_user_message_are_always_kept(messages: list[Any], slack: int) -> None:
    kept = limiter(least(messages) + slack).limit(messages, tools=[MAIL]).messages

    def chosen(among: list[Any], role: str) -> list[int]:
        readings = [(message, read_message(message)) for message in among]
        return [
            id(message)
            for message, reading in readings
            if reading.role == role and not any(isinstance(part, Result) for part in reading.parts)
        ]

    assert chosen(kept, "system") == chosen(messages, "system")
    assert chosen(kept, "user")[-1:] == chosen(messages, "user")[-1:]


@given(conversations(), limits)
def test_neither_the_messages_nor_their_list_are_changed(messages: list[Any], limit: int) -> None:
    before, given_list = copy.deepcopy(messages), list(messages)
    try:
        kept = limiter(limit).limit(messages, tools=[MAIL]).messages
    except TokenLimitError:
        kept = []
    assert messages == before
    assert {id(message) for message in kept} <= {id(message) for message in given_list}
    assert kept is not messages


@given(conversations())
def test_groups_hold_every_message_but_the_system_ones_once_and_in_order(messages: list[Any]) -> None:
    turns = turns_of(messages)
    places = [place for group in turns.groups for place in group]
    assert sorted([*places, *turns.system]) == list(range(len(messages)))
    assert all(first < second for first, second in pairwise(places))


# The chain


@dataclass
class Step:
    """The least a processor must give back; the rest of a `StepResult` is not needed here."""

    tools: Any
    system_messages: tuple[str, ...]
    messages: Any
    loaded: tuple[str, ...] = ()
    catalog_version: str = "1"


class Adds:
    """A processor that adds one tool and one system message."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.seen: list[dict[str, Any]] = []

    def process_input_step_sync(self, **step: Any) -> StepResult:
        self.seen.append(step)
        tools = {**(step.get("tools") or {}), self.id: Tool(name=self.id)}
        messages = [{"role": "system", "content": self.id}, *step["messages"]]
        return cast("StepResult", Step(tools, (self.id,), messages))

    async def process_input_step(self, **step: Any) -> StepResult:
        return self.process_input_step_sync(**step)


def test_each_processor_gets_what_the_one_before_left() -> None:
    first, second = Adds("first"), Adds("second")
    run: dict[str, Any] = {}
    messages = neutral(["hi"])
    result = ProcessorChain([first, second]).process_input_step_sync(messages=messages, thread_id="t", run=run)
    assert first.seen == [{"messages": messages, "thread_id": "t", "run": run}]
    assert list(second.seen[0]["tools"]) == ["first"]
    assert second.seen[0]["messages"] == [{"role": "system", "content": "first"}, *messages]
    assert second.seen[0]["run"] is run
    assert list(result.tools) == ["first", "second"]
    assert result.system_messages == ("first", "second")


async def test_the_limiter_counts_what_all_processors_added() -> None:
    messages = neutral(["old", "new"])
    added = [{"role": "system", "content": name} for name in ("second", "first")]
    tools = [Tool(name="first"), Tool(name="second")]
    limit = cost([*added, *messages], tools=tools)
    for slack, kept in ((0, [*added, *messages]), (1, [*added, messages[1]])):
        chain = ProcessorChain([Adds("first"), Adds("second"), limiter(limit - slack)])
        assert (await chain.process_input_step(messages=messages)).messages == kept
        assert chain.process_input_step_sync(messages=messages).messages == kept


def test_a_chain_raises_what_its_limiter_raises() -> None:
    chain = ProcessorChain([Adds("first"), limiter(5)])
    with pytest.raises(TokenLimitError):
        chain.process_input_step_sync(messages=neutral(["hi"]))


async def test_the_gate_of_the_step_survives_the_chain() -> None:
    sent: list[str] = []

    def send_mail(to: str) -> str:
        """Send a mail to somebody."""
        sent.append(to)
        return "sent"

    with ToolSearchProcessor([send_mail], model=WordEncoder(), counter=letters, search={"min_score": 0}) as processor:
        chain = ProcessorChain([processor, limiter(100_000)])
        messages = openai_chat(["old " * 100, "send a mail to ann"])
        run: dict[str, Any] = {}
        step = await chain.process_input_step(messages=messages, run=run)
        await step.acall("load_tool", {"tool_name": "send_mail"})
        step = await chain.process_input_step(messages=messages, run=run, step_number=1)
        assert (await step.acall("send_mail", {"to": "ann"})).content == "sent"
        assert list(step.tools) == ["search_tools", "load_tool", "send_mail"]

        full = cost(step.messages, tools=step.tools)
        tight = ProcessorChain([processor, limiter(full - 1)])
        shorter = await tight.process_input_step(messages=messages, run=run, step_number=2)
        assert [message for message in shorter.messages if message["role"] == "user"] == messages[1:]
        assert cost(shorter.messages, tools=shorter.tools) <= full - 1
        assert replace(shorter, messages=step.messages).tools == step.tools
    assert sent == ["ann"]


@pytest.mark.parametrize(
    ("processors", "reason"),
    [
        ([limiter(10), Adds("a")], "must be the last"),
        ([Adds("a"), limiter(10), limiter(10)], "must be the last"),
        ([limiter(10)], "needs a processor"),
        ([], "needs a processor"),
        ([Adds("a"), Adds("b"), Adds("a")], "two have the id 'a'"),
        ([Adds("a"), object()], "object has no id"),
        ([ProcessorChain([Adds("a")])], "ProcessorChain has no id"),
    ],
)
def test_a_chain_that_could_not_keep_its_word_is_refused(processors: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        ProcessorChain(processors)


def test_a_load_is_dropped_with_its_evidence_or_kept_with_it(tell: Any) -> None:
    # failure 13: state lost or half kept when a conversation is cut
    messages = tell([[load("1", "send_mail")], "new"])
    whole, cut = (limiter(limit).limit(messages).messages for limit in (cost(messages), cost(messages) - 1))
    assert (loaded_names(whole), loaded_names(cut)) == (("send_mail",), ())
    assert cut == messages[-1:]
