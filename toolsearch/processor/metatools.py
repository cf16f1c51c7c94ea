"""The meta-tools as the model sees them, and the arguments it may send. The text is the same in every step."""

from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from toolsearch.tool import Tool
from toolsearch.transcript import LOAD_TOOL, SEARCH_TOOLS, UNLOAD_TOOL

SEARCH, LOAD, UNLOAD = SEARCH_TOOLS, LOAD_TOOL, UNLOAD_TOOL
RESERVED = frozenset({SEARCH, LOAD, UNLOAD})
"""Names no other tool may bear."""

PROVENANCE = "toolsearch:meta"
"""Marks a meta-tool that a framework rebuilt and feeds back."""

NEXT = "callable at the next model call"
"""When a tool that is loaded now can be called; said in exactly these words everywhere."""


def _listed(value: Any) -> Any:
    # Models send a single string where a list of strings is asked for.
    return [value] if isinstance(value, str) else value


class SearchArguments(BaseModel):
    """Arguments of `search_tools`."""

    model_config = ConfigDict(strict=True)

    query: str | None = None
    queries: Annotated[list[str], BeforeValidator(_listed)] | None = None


class NameArguments(BaseModel):
    """Arguments of `load_tool` and `unload_tool`."""

    model_config = ConfigDict(strict=True)

    tool_name: str | None = Field(default=None, validation_alias=AliasChoices("tool_name", "toolName"))
    tool_names: Annotated[list[str], BeforeValidator(_listed)] | None = Field(
        default=None, validation_alias=AliasChoices("tool_names", "toolNames")
    )

    @property
    def names(self) -> list[str]:
        """The union of both, in order, each once; empty where neither says anything."""
        single = [self.tool_name] if self.tool_name else []
        return list(dict.fromkeys([*single, *(name for name in self.tool_names or [] if name)]))


def search_tool(*, auto_load: bool, max_queries: int) -> Tool:
    """`search_tools`, in the wording of this mode."""
    then = f"The tools it finds are loaded and {NEXT}." if auto_load else f"To use one, load it with {LOAD}."
    return _meta(
        SEARCH,
        "Find tools that are not listed here. Say in a few words what has to be done, one capability a query. "
        f"Returns the names and descriptions of the tools that fit best. {then}",
        {
            "query": {
                "type": "string",
                "description": "What the tool should do, e.g. 'create a GitHub issue', or a tool's exact name, "
                "or 'select:name_a,name_b'",
            },
            "queries": {
                "type": "array",
                "items": {"type": "string"},
                "description": f"Instead of query: up to {max_queries} queries, for a task that needs several tools",
            },
        },
    )


def load_tool() -> Tool:
    """`load_tool`."""
    return _meta(
        LOAD,
        f"Load one or more tools found with {SEARCH}. A loaded tool is {NEXT}.",
        _names("load"),
    )


def unload_tool() -> Tool:
    """`unload_tool`."""
    return _meta(
        UNLOAD,
        "Remove loaded tools that are no longer needed. Costs one cache write, because the list of tools changes.",
        _names("unload"),
    )


def _names(verb: str) -> dict[str, Any]:
    return {
        "tool_name": {"type": "string", "description": f"The exact name of a tool to {verb}"},
        "tool_names": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"The exact names of several tools to {verb}",
        },
    }


def _meta(name: str, description: str, properties: dict[str, Any]) -> Tool:
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    return Tool(name=name, description=description, parameters=parameters, provenance=PROVENANCE)
