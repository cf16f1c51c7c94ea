"""One agent step: what the model sees before it speaks, and what it may call after."""

from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Self

from toolsearch.embedding.encoder import Encoder
from toolsearch.errors import OptionError
from toolsearch.filter import Policy, ToolFilter
from toolsearch.naming import check_callable
from toolsearch.processor.metatools import RESERVED
from toolsearch.processor.options import SearchOptions, Settings, checked
from toolsearch.processor.step import StepResult
from toolsearch.processor.stepping import Request, Steps, Tools
from toolsearch.processor.storage import make_store
from toolsearch.search import ToolSearch
from toolsearch.state import InMemoryStore, StateStats
from toolsearch.tokens import TokenCounter, default_counter
from toolsearch.waiting import OnLoop, drive


class ToolSearchProcessor:
    """Gives an agent two meta-tools instead of a catalog. Safe to share between requests, threads and tasks.

    Call `process_input_step` before every model call, send what it returns, and run every tool call through the result.
    """

    id = "tool-search"
    name = "Tool Search Processor"

    def __init__(
        self,
        tools: Tools,
        *,
        search: SearchOptions | Mapping[str, Any] | None = None,
        filter: ToolFilter | None = None,  # noqa: A002 - the name users of this processor know
        model: str | Encoder = "minilm",
        cache_dir: Path | str | None = None,
        counter: TokenCounter | None = None,
        **settings: Any,
    ) -> None:
        """Embed and check the static tools; `settings` are the fields of `Settings`, in either spelling.

        Raises:
            OptionError: an option does not exist or is out of range.
            ToolError: a tool cannot be read, or its name is illegal, reserved or taken; names it and says what to do.
            ModelError: the embedding model cannot be used.
        """
        if cache_dir is not None:
            settings["cache_dir"] = cache_dir
        options = checked(Settings, {**settings, "search": checked(SearchOptions, search)})
        if filter is not None and not callable(filter):
            raise OptionError("filter", f"is a function of tool_name, tool, request_context and phase, not {filter!r}.")
        policy = Policy(filter)
        if options.inject_summary and policy.restricts:
            raise OptionError(
                "inject_summary", "counts tools that a filter may hide; it is for catalogs without a filter."
            )
        self._store = make_store(options)
        self._search = ToolSearch(tools, model=model, cache_dir=options.cache_dir)
        check_callable(self._search.catalog, RESERVED)
        self._steps = Steps(self._search, options, policy, self._store, counter or default_counter())

    @property
    def catalog(self) -> ToolSearch:
        """The search over the static tools."""
        return self._search

    async def process_input_step(
        self,
        *,
        tools: Tools | None = None,
        messages: Iterable[Any] = (),
        request_context: Any = None,
        resource_id: str | None = None,
        thread_id: str | None = None,
        step_number: int = 0,
        run: MutableMapping[str, Any] | None = None,
    ) -> StepResult:
        """What the model sees in this step. `run` is a mapping the caller keeps for one run of the agent.

        Raises:
            DuplicateToolError: a tool of the caller and a loaded one share a name and are not the same.
        """
        request = Request(tools, messages, request_context, resource_id, thread_id, step_number, run)
        return await self._steps.step(request, OnLoop())

    def process_input_step_sync(
        self,
        *,
        tools: Tools | None = None,
        messages: Iterable[Any] = (),
        request_context: Any = None,
        resource_id: str | None = None,
        thread_id: str | None = None,
        step_number: int = 0,
        run: MutableMapping[str, Any] | None = None,
    ) -> StepResult:
        """`process_input_step` for code without an event loop.

        Raises:
            DuplicateToolError: a tool of the caller and a loaded one share a name and are not the same.
            AsyncFilterError: the filter or the store is async and an event loop runs here.
        """
        request = Request(tools, messages, request_context, resource_id, thread_id, step_number, run)
        return drive(lambda waiting: self._steps.step(request, waiting), use="process_input_step()")

    async def get_loaded_tools(
        self,
        request_context: Any = None,
        tools: Tools | None = None,
        messages: Iterable[Any] = (),
        *,
        resource_id: str | None = None,
        thread_id: str | None = None,
        run: MutableMapping[str, Any] | None = None,
    ) -> dict[str, object]:
        """The loaded tools of a run that is resumed (after an approval, in a new process), by name, as their owners gave them.

        What the store has lost is read back from the messages, under the filter's `load` and `active`, and kept again.
        """
        return await self._steps.resume(
            Request(tools, messages, request_context, resource_id, thread_id, 0, run), OnLoop()
        )

    def get_loaded_tools_sync(
        self,
        request_context: Any = None,
        tools: Tools | None = None,
        messages: Iterable[Any] = (),
        *,
        resource_id: str | None = None,
        thread_id: str | None = None,
        run: MutableMapping[str, Any] | None = None,
    ) -> dict[str, object]:
        """`get_loaded_tools` for code without an event loop.

        Raises:
            AsyncFilterError: the filter or the store is async and an event loop runs here.
        """
        request = Request(tools, messages, request_context, resource_id, thread_id, 0, run)
        return drive(lambda waiting: self._steps.resume(request, waiting), use="get_loaded_tools()")

    def clear_state(self, thread_id: str | None, resource_id: str | None = None) -> None:
        """Forget what a thread has loaded, for one resource or for all. In-memory storage only."""
        if isinstance(self._store, InMemoryStore):
            self._store.clear(thread_id, resource_id)
            self._steps.forget_searches(thread_id, resource_id)

    def clear_all_state(self) -> None:
        """Forget what every thread has loaded. In-memory storage only."""
        if isinstance(self._store, InMemoryStore):
            self._store.clear_all()
            self._steps.forget_all_searches()

    def get_state_stats(self) -> StateStats:
        """How many threads have loaded tools, and the oldest access in epoch milliseconds. In-memory storage only."""
        if isinstance(self._store, InMemoryStore):
            return self._store.stats()
        return StateStats(thread_count=0, oldest_access_time=None)

    def cleanup_now(self) -> int:
        """Drop expired threads now; returns how many. In-memory storage only."""
        return self._store.sweep() if isinstance(self._store, InMemoryStore) else 0

    def close(self) -> None:
        """Stop the background sweep and release the cache. May be called again."""
        if isinstance(self._store, InMemoryStore):
            self._store.close()
        self._search.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
