"""The office: a small catalog whose tools share words with the queries that want them, and the people who use it."""

import asyncio
import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from fakes import WordEncoder

from toolsearch.processor import CallResult, StepResult, ToolSearchProcessor
from toolsearch.tool import Tool

NEXT = "callable at the next model call"


def tool(name: str, description: str = "", *, needs: Collection[str] = (), answer: Any = None, **fields: Any) -> Tool:
    """A tool with string parameters that answers `answer`, else its own name and what it was called with."""

    def run(**arguments: Any) -> Any:
        return {"ran": name, **arguments} if answer is None else answer

    parameters = {
        "type": "object",
        "properties": {field: {"type": "string", "description": f"the {field}"} for field in needs},
        "required": list(needs),
    }
    return Tool(**{"name": name, "description": description, "parameters": parameters, "executor": run, **fields})


def catalog() -> list[Tool]:
    """Eight tools of three servers; each is alone with its words."""
    return [
        tool("create_issue", "Open a new issue in the bug tracker", needs=["title"], server="github"),
        tool("close_issue", "Close a finished issue of the bug tracker", needs=["number"], server="github"),
        tool("send_mail", "Send an email message to a person", needs=["to"], server="post"),
        tool("read_mail", "Read the newest email message of the inbox", server="post"),
        tool("get_weather", "Weather forecast for a city", needs=["city"], server="sky"),
        tool("get_tides", "Tide tables for a harbour", needs=["harbour"], server="sky"),
        tool("book_flight", "Book a seat on an airplane", server="sky"),
        tool("pay_invoice", "Transfer money for an invoice", server="bank"),
    ]


NAMES = [one.id for one in catalog()]

Make: TypeAlias = Callable[..., ToolSearchProcessor]


class Office:
    """Makes processors that share a cache folder and are closed together."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[ToolSearchProcessor] = []

    def processor(self, tools: Any = None, **options: Any) -> ToolSearchProcessor:
        made = ToolSearchProcessor(
            catalog() if tools is None else tools,
            **{"model": WordEncoder(), "cache_dir": self._folder, "counter": quarter, **options},
        )
        self._made.append(made)
        return made

    def close(self) -> None:
        for made in self._made:
            made.close()


def quarter(text: str) -> int:
    """A token for four characters."""
    return (len(text) + 3) // 4


class Rule:
    """A filter that denies what it was told to deny, and remembers what it was asked."""

    def __init__(
        self, *, search: Collection[str] = (), load: Collection[str] = (), active: Collection[str] = ()
    ) -> None:
        self.denied: dict[str, set[str]] = {"search": set(search), "load": set(load), "active": set(active)}
        self.asked: list[tuple[str, str]] = []
        self.contexts: list[Any] = []

    def __call__(self, *, tool_name: str, tool: Tool, request_context: Any, phase: str) -> bool:
        assert tool.id == tool_name
        self.asked.append((phase, tool_name))
        self.contexts.append(request_context)
        return tool_name not in self.denied[phase]

    def names(self, phase: str) -> list[str]:
        return [name for asked, name in self.asked if asked == phase]


def denying(*names: str) -> Rule:
    """These names exist for nobody, whatever the phase."""
    return Rule(search=names, load=names, active=names)


class Entry(Protocol):
    """One way in; the tests speak to both alike."""

    def step(self, processor: ToolSearchProcessor, **request: Any) -> StepResult: ...

    def call(self, step: StepResult, name: str, arguments: Any = None) -> CallResult: ...

    def check(self, step: StepResult, name: str, arguments: Any = None) -> CallResult | None: ...

    def resume(self, processor: ToolSearchProcessor, *args: Any, **request: Any) -> dict[str, object]: ...


class _Sync:
    def step(self, processor: ToolSearchProcessor, **request: Any) -> StepResult:
        return processor.process_input_step_sync(**request)

    def call(self, step: StepResult, name: str, arguments: Any = None) -> CallResult:
        return step.call(name, arguments)

    def check(self, step: StepResult, name: str, arguments: Any = None) -> CallResult | None:
        return step.check(name, arguments)

    def resume(self, processor: ToolSearchProcessor, *args: Any, **request: Any) -> dict[str, object]:
        return processor.get_loaded_tools_sync(*args, **request)


class _Async:
    def step(self, processor: ToolSearchProcessor, **request: Any) -> StepResult:
        return asyncio.run(processor.process_input_step(**request))

    def call(self, step: StepResult, name: str, arguments: Any = None) -> CallResult:
        return asyncio.run(step.acall(name, arguments))

    def check(self, step: StepResult, name: str, arguments: Any = None) -> CallResult | None:
        return asyncio.run(step.acheck(name, arguments))

    def resume(self, processor: ToolSearchProcessor, *args: Any, **request: Any) -> dict[str, object]:
        return asyncio.run(processor.get_loaded_tools(*args, **request))


SYNC: Entry = _Sync()
ASYNC: Entry = _Async()


@dataclass
class Talk:
    """One conversation: keeps the messages as an agent does, and answers every call into them."""

    processor: ToolSearchProcessor
    request: dict[str, Any]
    entry: Entry = SYNC

    def __post_init__(self) -> None:
        self.messages: list[Any] = [{"role": "user", "content": "help me"}]
        self._calls = 0
        self.now = self.step()

    def step(self, **request: Any) -> StepResult:
        self.now = self.entry.step(self.processor, **{**self.request, "messages": self.messages, **request})
        self.messages = list(self.now.messages)
        return self.now

    def call(self, name: str, arguments: Any = None) -> Any:
        """Call in the present step; the answer goes into the messages and comes back."""
        content = self.entry.call(self.now, name, arguments).content
        self._calls += 1
        self.messages += exchange(f"call-{self._calls}", name, arguments, content)
        return content

    def search(self, query: str, **arguments: Any) -> Any:
        return self.call("search_tools", {"query": query, **arguments})

    def load(self, *names: str) -> Any:
        return self.call("load_tool", {"tool_names": list(names)})

    def visible(self) -> list[str]:
        """What the model may call beside the meta-tools, at a new step."""
        return beside_meta(self.step())


def exchange(call_id: str, name: str, arguments: Any, content: Any) -> list[Any]:
    """A call of the assistant and its result, as neutral messages."""
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "name": name, "arguments": arguments}]},
        {"role": "tool", "tool_call_id": call_id, "name": name, "content": json.dumps(content)},
    ]


def beside_meta(step: StepResult) -> list[str]:
    """The names of a step's tools, the meta-tools aside."""
    return [name for name in step.tools if name not in ("search_tools", "load_tool", "unload_tool")]


def found(answer: Mapping[str, Any]) -> list[str]:
    """The names of an answer of `search_tools`."""
    return [result["name"] for result in answer["results"]]


def sayings(step: StepResult, content: Any = None) -> str:
    """Everything the model reads of a step and of one answer, as one text to look for a secret in."""
    texts = [*step.system_messages, *(str(message) for message in step.messages), json.dumps(content, default=str)]
    return "\n".join([*texts, *step.tools])


def raises(*_: Any, **__: Any) -> Any:
    """A filter, or a tool, that fails."""
    raise RuntimeError("secret reason")


def slow(rule: Callable[..., object]) -> Callable[..., Any]:
    """The same filter, asynchronous, giving way to others before it answers."""

    async def asked(**question: Any) -> object:
        await asyncio.sleep(0)
        verdict = rule(**question)
        return await verdict if inspect.isawaitable(verdict) else verdict

    return asked
