"""An agent's loop without a language model: a script plays the model, everything else is the real thing."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from toolsearch.cache import CachedEncoder
from toolsearch.console.effort import Effort, measured
from toolsearch.demo.scenario import Call, Reply, Scenario, StuckError, model
from toolsearch.processor import StepResult, ToolSearchProcessor
from toolsearch.tokens import TokenCounter, transcript_tokens
from toolsearch.transcript import LOAD_TOOL, SEARCH_TOOLS

META_TOOLS = frozenset({SEARCH_TOOLS, LOAD_TOOL})
"""What an agent with every tool in its prompt would not need to call."""


@dataclass(frozen=True, slots=True)
class Step:
    """One model call, and what came of the tool call the model answered with."""

    number: int
    """1-based."""
    visible: tuple[str, ...]
    """The tools the model saw, in the order of the prompt."""
    tokens: int
    """System messages, tool definitions and messages of this model call."""
    everything: int
    """The tokens of the same call with every tool in the prompt, and neither search nor load in the messages."""
    needed_anyway: bool
    """Whether an agent with every tool in its prompt makes this model call too: it neither searches nor loads."""
    call: Call | None = None
    """None in the last step, where the model speaks instead."""
    reply: Reply | None = None
    effort: Effort | None = None
    """Of the tool call: for a search, of encoding the query and ranking."""
    words: str = ""
    """What the model says in the last step."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """What a step costs in tokens."""

    counter: TokenCounter
    all_definitions: int
    """Tokens of the definitions of every tool."""

    def step(self, step: StepResult) -> int:
        return transcript_tokens(step.messages, self.counter, tools=step.tools)

    def everything(self, messages: Sequence[Mapping[str, Any]]) -> int:
        own = [message for message in messages if not _is_about_tool_search(message)]
        return self.all_definitions + transcript_tokens(own, self.counter)


def _is_about_tool_search(message: Mapping[str, Any]) -> bool:
    calls = [call["name"] for call in message.get("tool_calls", ())]
    return message.get("name") in META_TOOLS or bool(calls and META_TOOLS.issuperset(calls))


def work(processor: ToolSearchProcessor, scenario: Scenario, *, encoder: CachedEncoder, gauge: Gauge) -> Iterator[Step]:
    """Play the scenario through the processor, one step a model call, as it happens.

    Raises:
        StuckError: something the script counted on did not happen.
    """
    script = model(scenario)
    messages: list[dict[str, Any]] = [{"role": "user", "content": scenario.task}]
    run: dict[str, Any] = {}
    call, words = next(script), None
    for number in count(1):
        step = processor.process_input_step_sync(messages=messages, run=run, step_number=number - 1)
        visible, tokens, everything = tuple(step.tools), gauge.step(step), gauge.everything(messages)
        if words is not None:
            yield Step(number, visible, tokens, everything, needed_anyway=True, words=words)
            return
        if call.name not in step.tools:
            raise StuckError(f"{call.name} is not among the tools of step {number}: {', '.join(step.tools)}")
        reply, effort = measured(encoder, partial(_run, step, call))
        yield Step(
            number,
            visible,
            tokens,
            everything,
            needed_anyway=call.name not in META_TOOLS,
            call=call,
            reply=reply,
            effort=effort,
        )
        messages += _spoken(f"call_{number}", call, reply)
        try:
            call = script.send(reply)
        except StopIteration as end:
            words = end.value


def _run(step: StepResult, call: Call) -> Reply:
    """The call, through the gate. What the tool itself raises is an answer too: a model can mend its arguments."""
    try:
        result = step.call(call.name, dict(call.arguments))
    except Exception as error:  # noqa: BLE001 - a tool may raise anything
        return Reply(f"{type(error).__name__}: {error}", is_error=True)
    return Reply(result.content, result.is_error)


def _spoken(call_id: str, call: Call, reply: Reply) -> list[dict[str, Any]]:
    """The call and its result, as the messages that the next model call reads."""
    said = {"id": call_id, "name": call.name, "arguments": dict(call.arguments)}
    content = reply.content if isinstance(reply.content, str) else json.dumps(reply.content, ensure_ascii=False)
    return [
        {"role": "assistant", "content": "", "tool_calls": [said]},
        {"role": "tool", "tool_call_id": call_id, "name": call.name, "content": content},
    ]
