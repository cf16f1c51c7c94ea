"""A token limit on what a model reads, and the chain of processors that ends with it."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from toolsearch.errors import OptionError, TokenLimitError
from toolsearch.messages import Text, read_message
from toolsearch.processor.step import StepResult
from toolsearch.tokens import REPLY_TOKENS, TokenCounter, default_counter, message_tokens, tools_tokens
from toolsearch.turns import turns_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a limiter left out."""

    count: int
    """Messages."""
    tokens: int
    """What they would have cost."""


@dataclass(frozen=True, slots=True)
class Limited:
    """A conversation within its limit."""

    messages: list[Any]
    """The kept messages: the same objects, in their order."""
    dropped: Dropped
    tokens: int
    """What a model reads now: tool definitions, system messages, the kept messages, the opening of its reply."""


class TokenLimiter:
    """Drops the oldest messages until a model's input fits. Safe to share between threads.

    What is kept is the newest part of the conversation, without gaps, and as much of it as fits. System messages stay
    wherever they stand; the last turn (the last user message and all after it) always stays; a call is never parted from its
    results. The messages themselves are never changed.
    """

    id = "token-limiter"
    name = "Token Limiter"

    def __init__(self, limit: int, *, counter: TokenCounter | None = None) -> None:
        """Count with `counter`, else with `default_counter()`, which takes seconds to load once a process.

        Raises:
            OptionError: the limit is no positive integer.
        """
        if type(limit) is not int or limit < 1:
            raise OptionError("limit", f"expected a positive number of tokens, got {limit!r}.")
        self.max_tokens = limit
        self._counter = counter or default_counter()

    def limit(
        self,
        messages: Iterable[Any],
        *,
        tools: Mapping[str, object] | Iterable[object] = (),
        system_messages: Iterable[str] = (),
    ) -> Limited:
        """The newest messages that fit beside the tools and the system messages.

        `system_messages` are texts sent beside the messages; one that stands among the messages is counted once.

        Raises:
            TokenLimitError: system messages, tools and last turn alone exceed the limit.
            MessageError: a message has no known shape, so that nobody can say what it belongs to.
        """
        given = list(messages)
        turns = turns_of(given)
        costs = [message_tokens(message, self._counter) for message in given]
        groups = [sum(costs[place] for place in group) for group in turns.groups]

        beside = _texts_beside(system_messages, [given[place] for place in turns.system])
        total = REPLY_TOKENS + tools_tokens(tools, self._counter)
        total += sum(message_tokens({"role": "system", "content": text}, self._counter) for text in beside)
        total += sum(costs[place] for place in turns.system) + sum(groups[turns.last :])
        if total > self.max_tokens:
            raise TokenLimitError(self.max_tokens, total)

        first = turns.last
        while first > 0 and total + groups[first - 1] <= self.max_tokens:
            first -= 1
            total += groups[first]

        gone = {place for group in turns.groups[:first] for place in group}
        dropped = Dropped(len(gone), sum(groups[:first]))
        if gone:
            _log.info(
                "Dropped the %d oldest messages (%d tokens) to keep within %d tokens.",
                dropped.count,
                dropped.tokens,
                self.max_tokens,
            )
        kept = [message for place, message in enumerate(given) if place not in gone]
        return Limited(kept, dropped, total)


class StepProcessor(Protocol):
    """What acts before each model call: takes what `ToolSearchProcessor.process_input_step` takes, gives a step."""

    @property
    def id(self) -> str:
        """Unique in a chain."""

    async def process_input_step(self, *args: Any, **kwargs: Any) -> StepResult:
        """The step, awaiting what must be awaited."""

    def process_input_step_sync(self, *args: Any, **kwargs: Any) -> StepResult:
        """The step, for code without an event loop."""


class ProcessorChain:
    """Processors in a row, each given the tools and messages that the one before it left; the limiter comes last.

    The result is the last processor's: its gate is the one that calls go through.
    """

    def __init__(self, processors: Sequence[StepProcessor | TokenLimiter]) -> None:
        """A limiter, if any, must be last.

        Raises:
            OptionError: there is no processor, something is none, two have one id, or a limiter is not the last.
        """
        if any(isinstance(processor, TokenLimiter) for processor in processors[:-1]):
            raise OptionError(
                "processors",
                "a TokenLimiter must be the last: whatever comes after it adds tools and messages that nobody counts.",
            )
        self._limiter = next((one for one in processors if isinstance(one, TokenLimiter)), None)
        self._processors = [one for one in processors if not isinstance(one, TokenLimiter)]
        if not self._processors:
            raise OptionError("processors", "a chain needs a processor whose step it can give back.")
        ids = [_checked_id(processor) for processor in self._processors]
        twice = next((one for one in ids if ids.count(one) > 1), None)
        if twice is not None:
            raise OptionError("processors", f"two have the id {twice!r}; they would share what a run remembers.")

    async def process_input_step(self, **step: Any) -> StepResult:
        """The step all processors agree on; takes what `ToolSearchProcessor.process_input_step` takes.

        Raises:
            TokenLimitError: what may not be dropped exceeds the limit.
            MessageError: there is a limiter, and a message has no known shape.
        """
        results: list[StepResult] = []
        for processor in self._processors:
            results.append(await processor.process_input_step(**_after(results, step)))
        return self._limited(results)

    def process_input_step_sync(self, **step: Any) -> StepResult:
        """`process_input_step` for code without an event loop.

        Raises:
            TokenLimitError: what may not be dropped exceeds the limit.
            MessageError: there is a limiter, and a message has no known shape.
            AsyncFilterError: something in a processor is async and an event loop runs here.
        """
        results: list[StepResult] = []
        for processor in self._processors:
            results.append(processor.process_input_step_sync(**_after(results, step)))
        return self._limited(results)

    def _limited(self, results: Sequence[StepResult]) -> StepResult:
        texts = tuple(dict.fromkeys(text for result in results for text in result.system_messages))
        result = replace(results[-1], system_messages=texts)
        if self._limiter is None:
            return result
        limited = self._limiter.limit(result.messages, tools=result.tools, system_messages=texts)
        return replace(result, messages=limited.messages)


def _after(results: Sequence[StepResult], step: Mapping[str, Any]) -> dict[str, Any]:
    """What the next processor is given."""
    return {**step, "tools": results[-1].tools, "messages": results[-1].messages} if results else dict(step)


def _checked_id(processor: object) -> str:
    name = getattr(processor, "id", None)
    acts = callable(getattr(processor, "process_input_step", None))
    if not isinstance(name, str) or not acts or not callable(getattr(processor, "process_input_step_sync", None)):
        raise OptionError(
            "processors", f"{type(processor).__name__} has no id, process_input_step and process_input_step_sync."
        )
    return name


def _texts_beside(texts: Iterable[str], system: Iterable[object]) -> list[str]:
    """The texts that do not stand among the system messages already."""
    standing = {
        "".join(part.text for part in read_message(message).parts if isinstance(part, Text)) for message in system
    }
    return [text for text in texts if text not in standing]
