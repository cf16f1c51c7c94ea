"""How a step comes about: whose conversation it is, which tools stand where, and what the model is told."""

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from toolsearch.filter import Policy
from toolsearch.processor import instructions, texts
from toolsearch.processor.assembly import LeftOut, StepTools, assemble, check_clash
from toolsearch.processor.context import StepContext
from toolsearch.processor.conversation import LoadedSet, RunSet, StoredSet, thread_key
from toolsearch.processor.history import Histories
from toolsearch.processor.metatools import LOAD, SEARCH, UNLOAD, load_tool, search_tool, unload_tool
from toolsearch.processor.options import Settings
from toolsearch.processor.step import StepResult
from toolsearch.search import ToolSearch
from toolsearch.state import LoadedToolStore, ThreadKey
from toolsearch.tokens import TokenCounter
from toolsearch.tool import Tool
from toolsearch.transcript import loaded_names
from toolsearch.waiting import Waiting

Tools = Mapping[str, object] | Iterable[object]
"""Tools of any known shape, by callable name or with names of their own."""


@dataclass(frozen=True, slots=True)
class Request:
    """What came in with one step."""

    tools: Tools | None
    messages: Iterable[Any]
    request_context: Any
    resource_id: str | None
    thread_id: str | None
    step_number: int
    run: MutableMapping[str, Any] | None


def _witnessed(messages: Iterable[Any], tools: StepTools) -> list[str]:
    """The names that the messages prove loaded. A receipt for a tool of the caller's own, which said no more than that it
    was there, proves nothing about a tool of the catalog with its name."""
    return [name for name in loaded_names(messages) if not tools.is_callers(name)]


class Steps:
    """Makes steps. Holds what all requests share, and nothing of any request."""

    def __init__(
        self,
        search: ToolSearch,
        settings: Settings,
        policy: Policy,
        store: LoadedToolStore | None,
        counter: TokenCounter,
    ) -> None:
        self._search = search
        self._settings = settings
        self._policy = policy
        self._store = store
        self._counter = counter
        self._histories = Histories(settings.max_threads)
        self._pinned_names = frozenset(settings.pinned)
        self._pinned = {t.id: t for t in search.catalog if t.pinned or t.id in self._pinned_names}
        self._aliases = {alias: tool.id for tool in search.catalog for alias in tool.aliases}
        self._left_out = LeftOut()
        options = settings.search
        self._meta = {SEARCH: search_tool(auto_load=options.auto_load, max_queries=options.max_queries)}
        if not options.auto_load:
            self._meta[LOAD] = load_tool()
        if settings.unload:
            self._meta[UNLOAD] = unload_tool()
        self._instruction = texts.INSTRUCTION_AUTO_LOAD if options.auto_load else texts.INSTRUCTION
        if settings.inject_summary and (summary := instructions.summary_text(search.catalog)):
            self._instruction += " " + summary

    async def step(self, request: Request, waiting: Waiting) -> StepResult:
        """The tools and system messages of the next model call."""
        messages = list(request.messages or ())
        tools = await self._assemble(request, waiting)
        key = self._key(request)
        loaded_set = self._loaded_set(key, request.run)
        if self._store is None:
            await loaded_set.add(_witnessed(messages, tools), waiting)
        active, hidden = await self._active(loaded_set, tools, request.request_context, waiting)
        # A loaded tool that a framework feeds back is no tool of the caller's own.
        tools = tools.without([name for name in hidden if not tools.is_callers(name)])
        pinned = await self._pinned_now(tools, request.request_context, waiting)
        wanted = [self._instruction]
        if self._settings.inject_catalog and (listed := await self._listed(tools, request.request_context, waiting)):
            wanted.append(listed)
        missing, placed = instructions.place(messages, wanted)
        return StepResult(
            tools={
                **self._meta,
                **{name: tool.unwrapped for name, tool in pinned.items()},
                **{name: tool for name, tool in tools.prompt.items() if name not in active and name not in pinned},
                **{name: tool.unwrapped for name, tool in active.items()},
            },
            system_messages=missing,
            messages=placed,
            loaded=tuple(active),
            catalog_version=tools.catalog.version,
            context=StepContext(
                search=self._search,
                options=self._settings.search,
                policy=self._policy,
                counter=self._counter,
                histories=self._histories,
                key=key,
                run=request.run,
                loaded_set=loaded_set,
                request_context=request.request_context,
                tools=tools,
                meta=self._meta,
                active=active,
                pinned=pinned,
                hidden=hidden,
            ),
        )

    async def resume(self, request: Request, waiting: Waiting) -> dict[str, object]:
        """The loaded tools of a paused run, by name."""
        tools = await self._assemble(request, waiting)
        loaded_set = self._loaded_set(self._key(request), request.run)
        known = set(await loaded_set.read(waiting))
        witnessed = [name for name in _witnessed(request.messages or (), tools) if name not in known]
        if self._store is not None:
            # A store does not ask `load` again, so nothing enters it on a transcript's word alone.
            witnessed = [name for name in witnessed if await self._may_load(name, tools, request, waiting)]
        await loaded_set.add(witnessed, waiting)
        active, _ = await self._active(loaded_set, tools, request.request_context, waiting)
        return {name: tool.unwrapped for name, tool in active.items()}

    def forget_searches(self, thread_id: str | None, resource_id: str | None = None) -> None:
        """Forget what the searches of a thread have brought, for one resource or for all."""
        self._histories.forget(
            lambda key: key.thread_id == thread_id and resource_id in (None, key.resource_id),
        )

    def forget_all_searches(self) -> None:
        """Forget what the searches of every thread have brought."""
        self._histories.forget(lambda _: True)

    async def _assemble(self, request: Request, waiting: Waiting) -> StepTools:
        resolve = self._settings.include_resolved_tools

        def assembled() -> StepTools:
            return assemble(
                self._search,
                request.tools,
                resolve=resolve,
                pinned=self._pinned_names,
                aliases=self._aliases,
                left_out=self._left_out,
            )

        tools = await waiting.offload(assembled) if resolve and request.tools else assembled()
        denied = [
            name
            for name in tools.guarded
            if (tool := tools.own[name]) is not None
            and not await self._policy.allows(tool, "active", request.request_context, waiting)
        ]
        return tools.without(denied) if denied else tools

    def _key(self, request: Request) -> ThreadKey | None:
        shared = self._settings.anonymous == "shared"
        return thread_key(request.request_context, request.resource_id, request.thread_id, shared=shared)

    def _loaded_set(self, key: ThreadKey | None, run: MutableMapping[str, Any] | None) -> LoadedSet:
        if self._store is None:
            return RunSet(run, keeps=True)  # the messages keep it
        return RunSet(run) if key is None else StoredSet(self._store, key)

    async def _active(
        self, loaded_set: LoadedSet, tools: StepTools, request_context: Any, waiting: Waiting
    ) -> tuple[dict[str, Tool], list[str]]:
        """The snapshot: loaded names that resolve in this request and that the filter leaves in, in load order; and the
        names that it does not."""
        active: dict[str, Tool] = {}
        hidden: list[str] = []
        for name in await loaded_set.read(waiting):
            tool = tools.catalog.resolve(name)
            if tool is None:
                continue  # not forgotten: it returns in place when it resolves again
            # A transcript is evidence, not permission.
            permitted = self._store is not None or await self._policy.allows(tool, "load", request_context, waiting)
            if not permitted or not await self._policy.allows(tool, "active", request_context, waiting):
                hidden.append(name)
                continue
            if name in tools.own:
                check_clash(name, tools.own[name], tool)
            active[name] = tool
        return active, hidden

    async def _pinned_now(self, tools: StepTools, request_context: Any, waiting: Waiting) -> dict[str, Tool]:
        """The pinned static tools this request may have. The request's own pinned ones stand among the caller's."""
        pinned: dict[str, Tool] = {}
        for name, tool in self._pinned.items():
            if tools.catalog.resolve(name) is tool and await self._policy.allows(
                tool, "active", request_context, waiting
            ):
                if name in tools.own:
                    check_clash(name, tools.own[name], tool)
                pinned[name] = tool
        return pinned

    async def _listed(self, tools: StepTools, request_context: Any, waiting: Waiting) -> str | None:
        allowed = [t for t in tools.catalog if await self._policy.allows(t, "search", request_context, waiting)]
        return instructions.catalog_text(allowed, auto_load=self._settings.search.auto_load)

    async def _may_load(self, name: str, tools: StepTools, request: Request, waiting: Waiting) -> bool:
        tool = tools.catalog.resolve(name)
        return tool is not None and await self._policy.allows(tool, "load", request.request_context, waiting)
