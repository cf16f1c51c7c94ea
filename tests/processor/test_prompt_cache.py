"""The prompt cache holds: over any story, the list of tools only grows at its end while nothing is taken away."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from office import NAMES, SYNC, Office, Rule, Talk, beside_meta, tool

from toolsearch.tool import Tool

REQUEST = [f"request_{number}" for number in range(4)]
EVERY = [*NAMES, *REQUEST]


class Story(RuleBasedStateMachine):
    """An agent at work: it searches, guesses, loads; rights and request tools come and go between its steps.

    The model of what must be is a plain list of loaded names.
    """

    @initialize(auto_load=st.booleans(), storage=st.sampled_from(["in-memory", "context"]), own=st.booleans())
    def begin(self, auto_load: bool, storage: str, own: bool) -> None:
        import tempfile
        from pathlib import Path

        self._folder = tempfile.TemporaryDirectory()
        self._office = Office(Path(self._folder.name))
        self.rule = Rule()
        self.auto_load = auto_load
        self.present = set(REQUEST)
        self.loaded: list[str] = []
        processor = self._office.processor(
            filter=self.rule,
            storage=storage,
            include_resolved_tools=True,
            pinned=["own_clock"] if own else [],
            search={"auto_load": auto_load, "top_k": 2, "max_fruitless": 2},
        )
        self.own = [tool("own_clock", "Tell the time")] if own else []
        self.talk = Talk(processor, {"thread_id": "t", "run": {}, "tools": self.tools()})
        self.definitions = self.meta()
        self.before = list(self.talk.now.tools)
        self.taken = False

    def teardown(self) -> None:
        if hasattr(self, "_office"):
            self._office.close()
            self._folder.cleanup()

    def tools(self) -> list[Tool]:
        return [*self.own, *(tool(name, f"The request's {name}") for name in REQUEST if name in self.present)]

    def meta(self) -> list[str]:
        return [
            one.model_dump_json()
            for name, one in self.talk.now.tools.items()
            if name in ("search_tools", "load_tool") and isinstance(one, Tool)
        ]

    def may(self, name: str, phase: str) -> bool:
        return (name in NAMES or name in self.present) and name not in self.rule.denied[phase]

    @rule(words=st.sampled_from(["email message", "tide tables", "zebra", "request", "issue", "weather"]))
    def search(self, words: str) -> None:
        answer = self.talk.search(words)
        for name in [result["name"] for result in answer["results"]] if self.auto_load else []:
            if name not in self.loaded and name != "own_clock":
                assert self.may(name, "load")
                self.loaded.append(name)

    @rule(names=st.lists(st.sampled_from([*EVERY, "zebra"]), min_size=1, max_size=4))
    @precondition(lambda self: not self.auto_load)
    def load(self, names: list[str]) -> None:
        self.talk.load(*names)
        self.loaded += [name for name in dict.fromkeys(names) if self.may(name, "load") and name not in self.loaded]

    @rule(name=st.sampled_from(EVERY))
    def call(self, name: str) -> None:
        result = SYNC.call(self.talk.now, name, dict.fromkeys(("title", "number", "to", "city", "harbour"), "x"))
        assert result.is_error is (name not in self.before)

    @rule(name=st.sampled_from(EVERY), phase=st.sampled_from(["search", "load", "active"]))
    def deny(self, name: str, phase: str) -> None:
        self.rule.denied[phase].add(name)
        self.taken = True
        self.talk.step(tools=self.tools())
        self.before = list(self.talk.now.tools)

    @rule()
    def allow_everything(self) -> None:
        for denied in self.rule.denied.values():
            denied.clear()
        self.taken = True

    @rule(name=st.sampled_from(REQUEST))
    def flip(self, name: str) -> None:
        self.present ^= {name}
        self.taken = True
        # What a step searches and loads are the tools it began with: the change shows from the next step on.
        self.talk.request["tools"] = self.tools()
        self.talk.step()
        self.before = list(self.talk.now.tools)

    @rule()
    def step(self) -> None:
        self.talk.request["tools"] = self.tools()
        self.talk.step()
        now = list(self.talk.now.tools)
        if not self.taken:
            assert now[: len(self.before)] == self.before
        assert beside_meta(self.talk.now) == [*(one.id for one in self.own), *self.expected()]
        self.before, self.taken = now, False

    def expected(self) -> list[str]:
        asked = ["active"] if self.talk.processor.get_state_stats()["thread_count"] else ["load", "active"]
        return [name for name in self.loaded if all(self.may(name, phase) for phase in asked)]

    @invariant()
    def meta_tools_stay_byte_identical(self) -> None:
        if hasattr(self, "talk"):
            assert self.meta() == self.definitions


TestStory: Any = Story.TestCase
TestStory.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=[*HealthCheck]
)
