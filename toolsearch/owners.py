"""Who owns a tool: how an error tells two of one name apart, and when the two are one."""

import inspect

from toolsearch.tool import Tool


def owner(tool: Tool) -> str:
    """Who a tool belongs to, as an error names it."""
    original = tool.original
    if inspect.isroutine(original):
        return f"function {getattr(original, '__module__', None)}.{getattr(original, '__qualname__', tool.name)}"
    if tool.server:
        return f"{tool.name!r} of server {tool.server!r}"
    return f"{tool.name!r} ({tool.description[:60]!r})" if tool.description else repr(tool.name)


def same(known: Tool, tool: Tool) -> bool:
    """Whether two tools are one object of the caller's."""
    # A bound method is a new object at each access, equal to the last.
    first, second = known.unwrapped, tool.unwrapped
    return first is second or (inspect.ismethod(first) and bool(first == second))
