"""Every error this package raises, as one tree; each says what to do about it.

ToolSearchError
├── ToolError                    a tool that cannot be used
│   ├── InvalidToolError         a field is missing or has the wrong shape
│   ├── IllegalNameError         a callable name no provider accepts
│   ├── ReservedNameError        a name that belongs to a meta-tool
│   └── DuplicateToolError       two owners of one name
├── UnknownToolError             no tool has this name
├── NoExecutorError              a tool that only its caller can run was run here
├── OptionError                  a setting that does not exist or is out of range
├── AsyncFilterError             something asynchronous met the synchronous entry inside a running loop
├── MissingPackageError          an optional package is not installed
├── ModelError                   an embedding model cannot be used
│   ├── ModelNotFoundError       nothing answers to its name
│   ├── ModelFilesError          its files are missing or altered
│   └── VectorError              what it returned is not unit rows of the expected width
├── CatalogFileError             a file of tools cannot be read
├── MessageError                 a message has none of the known shapes
└── TokenLimitError              what may not be dropped already exceeds the limit
"""

from collections.abc import Sequence


class ToolSearchError(Exception):
    """The root: `except ToolSearchError` catches everything this package raises on purpose."""


class ToolError(ToolSearchError, ValueError):
    """A tool that cannot be used."""


class InvalidToolError(ToolError):
    """A field of a tool is missing or has the wrong shape."""

    def __init__(self, tool: str, field: str, reason: str) -> None:
        super().__init__(f"Tool {tool!r}, field {field!r}: {reason}")
        self.tool = tool
        self.field = field
        self.reason = reason


class IllegalNameError(ToolError):
    """A callable name that model providers refuse."""

    def __init__(self, name: str, legal: str) -> None:
        super().__init__(
            f"Tool name {_short(name)} cannot be called: a callable name has 1 to 64 letters, digits, "
            f"underscores or hyphens. Give the tool id={legal!r} instead and keep the old name in its aliases, "
            "or pass the tools through toolsearch.legal_names()."
        )
        self.name = name
        self.legal = legal


class ReservedNameError(ToolError):
    """A tool bears the name of a meta-tool."""

    def __init__(self, name: str, legal: str) -> None:
        super().__init__(
            f"Tool name {name!r} is reserved for a meta-tool of tool search. Give the tool another id, such as {legal!r}."
        )
        self.name = name
        self.legal = legal


class DuplicateToolError(ToolError):
    """Two tools answer to one name."""

    def __init__(self, name: str, owners: tuple[str, str]) -> None:
        super().__init__(
            f"The name {name!r} has two owners: {owners[0]} and {owners[1]}. "
            "Give one of them another id (or drop the alias that clashes)."
        )
        self.name = name
        self.owners = owners


class UnknownToolError(ToolSearchError, KeyError):
    """No tool has this name."""

    def __init__(self, name: str, close: Sequence[str] = ()) -> None:
        hint = f" Did you mean {_either(close)}?" if close else ""
        super().__init__(f"No tool named {_short(name)}.{hint}")
        self.name = name
        self.close = tuple(close)

    def __str__(self) -> str:
        # KeyError shows the repr of its argument; this is a sentence.
        return str(self.args[0])


class NoExecutorError(ToolSearchError, TypeError):
    """The gate allowed a call, and the tool carries nothing to run."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Tool {name!r} has no executor: it came as a definition only. Use StepResult.check() and run it yourself, "
            "or give Tool(executor=...)."
        )
        self.name = name


class OptionError(ToolSearchError, ValueError):
    """A setting that does not exist or is out of range."""

    def __init__(self, option: str, reason: str, nearest: str | None = None) -> None:
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"Option {option!r}: {reason}{hint}")
        self.option = option
        self.reason = reason
        self.nearest = nearest


class AsyncFilterError(ToolSearchError, RuntimeError):
    """Something asynchronous was met by a synchronous entry inside a running event loop."""

    def __init__(self, what: str, use: str) -> None:
        super().__init__(f"{what} is asynchronous and an event loop is running here: await {use} instead.")
        self.what = what
        self.use = use


class MissingPackageError(ToolSearchError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, needed_for: str, extra: str) -> None:
        super().__init__(f"{needed_for} need {package}. Run: pip install 'toolsearch[{extra}]'", name=package)
        self.package = package
        self.needed_for = needed_for
        self.extra = extra


class ModelError(ToolSearchError):
    """An embedding model cannot be used."""


class ModelNotFoundError(ModelError, LookupError):
    """Nothing answers to this model name: no registry entry, no folder, nothing on the hub."""

    def __init__(self, model: str, reason: str, command: str | None = None) -> None:
        hint = f" Run: {command}" if command else ""
        super().__init__(f"Model {model!r} was not found: {reason}{hint}")
        self.model = model
        self.reason = reason
        self.command = command


class ModelFilesError(ModelError):
    """The files of a model are missing or not the published ones."""

    def __init__(self, model: str, path: str, expected: str, found: str, command: str) -> None:
        super().__init__(f"Model {model!r}: {path} should have sha256 {expected}, found {found}. Run: {command}")
        self.model = model
        self.path = path
        self.expected = expected
        self.found = found
        self.command = command


class VectorError(ModelError, ValueError):
    """Vectors that cannot stand in an index: wrong width, not finite, or zero."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"Expected vectors that are {expected}; found {found}.")
        self.expected = expected
        self.found = found


class CatalogFileError(ToolSearchError, ValueError):
    """A file of tools cannot be read."""

    def __init__(self, path: str, reason: str, *, line: int | None = None, field: str | None = None) -> None:
        where = path if line is None else f"{path}:{line}"
        what = reason if field is None else f"field {field!r}: {reason}"
        super().__init__(f"{where}: {what}")
        self.path = path
        self.line = line
        self.field = field
        self.reason = reason


class MessageError(ToolSearchError, ValueError):
    """A message has none of the shapes this package reads."""


class TokenLimitError(ToolSearchError, ValueError):
    """What may not be dropped (system messages, tool definitions, the last turn) already exceeds the limit."""

    def __init__(self, limit: int, needed: int) -> None:
        super().__init__(
            f"The system messages, the tool definitions and the last turn need {needed} tokens and the limit is {limit}. "
            "Raise the limit, shorten the system message, or load fewer tools."
        )
        self.limit = limit
        self.needed = needed


def _either(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _short(name: str) -> str:
    # A name may be hostile: repr() escapes control characters, the cut keeps the message readable.
    return repr(name if len(name) <= 80 else name[:77] + "...")
