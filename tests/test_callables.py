"""Functions, methods, partials and callable objects as tools."""

import asyncio
import enum
import functools
import gc
import inspect
import logging
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Generic, Literal, NotRequired, Optional, TypedDict, TypeVar

import jsonschema
import pytest
from pydantic import BaseModel, Field, ValidationError

from toolsearch.callables import describe
from toolsearch.catalog import as_tool, as_tools
from toolsearch.errors import InvalidToolError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


class Person(BaseModel):
    name: str


class Address(TypedDict):
    """Where somebody lives."""

    street: str
    town: NotRequired[str]


class Family(TypedDict):
    home: Address
    members: list["Family"]


def properties(function: Any, key: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = as_tool(function, key=key).parameters["properties"]
    return found


def run(function: Any, /, **arguments: Any) -> Any:
    executor = as_tool(function).executor
    assert executor is not None
    return executor(**arguments)


def google(city: str, days: int = 3) -> None:
    """Forecast the weather.

    Takes clouds into account.

    Args:
        city: Where.
        days: How many days ahead.
    """


def numpy_style(city: str, days: int = 3) -> None:
    """Forecast the weather.

    Takes clouds into account.

    Parameters
    ----------
    city : str
        Where.
    days : int
        How many days ahead.
    """


def sphinx(city: str, days: int = 3) -> None:
    """Forecast the weather.

    Takes clouds into account.

    :param city: Where.
    :param days: How many days ahead.
    """


@pytest.mark.parametrize("function", [google, numpy_style, sphinx])
def test_each_docstring_style_tells_the_same(function: Any) -> None:
    tool = as_tool(function)
    assert tool.description == "Forecast the weather.\n\nTakes clouds into account."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where."},
            "days": {"type": "integer", "default": 3, "description": "How many days ahead."},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_function_is_named_by_itself_and_is_its_own_original() -> None:
    tool = as_tool(google)
    assert (tool.id, tool.name, tool.original) == ("google", "google", google)


def test_a_key_is_the_id_and_the_name_stays() -> None:
    tool = as_tools({"weather": google})[0]
    assert (tool.id, tool.name) == ("weather", "google")


def test_a_function_without_a_docstring_has_an_empty_description() -> None:
    def bare() -> None: ...

    assert as_tool(bare).description == ""


def test_a_docstring_in_no_style_is_kept() -> None:
    def odd(a: int) -> None:
        """Args: none of this: is a section

        >>> odd(1)
        """

    assert "none of this" in as_tool(odd).description + str(properties(odd))


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, {"type": "integer"}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (
            Annotated[int, Field(description="How many", ge=1)],
            {"type": "integer", "minimum": 1, "description": "How many"},
        ),
        (date, {"type": "string", "format": "date"}),
        (Color, {"$ref": "#/$defs/Color"}),
        (Any, {}),
    ],
)
def test_a_hint_is_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    def tool(value): ...  # type: ignore[no-untyped-def]

    tool.__annotations__ = {"value": hint}
    assert properties(tool) == {"value": schema}


@pytest.mark.parametrize(
    "hint", [Address, list[Address], dict[str, Address], Address | None, Annotated[Address, "note"]]
)
def test_a_typed_dict_is_described_wherever_it_stands(hint: Any) -> None:
    def tool(value): ...  # type: ignore[no-untyped-def]

    tool.__annotations__ = {"value": hint}
    described = as_tool(tool).parameters["$defs"]["Address"]
    assert (described["required"], set(described["properties"])) == (["street"], {"street", "town"})


def test_a_typed_dict_that_contains_itself_is_described() -> None:
    def tool(family: Family) -> Family:
        return family

    family = {"home": {"street": "Elm"}, "members": [{"home": {"street": "Oak"}, "members": []}]}
    assert run(tool, family=family) == family


def test_what_is_nested_arrives_as_what_the_hints_say() -> None:
    def tool(color: Color, point: Point, people: list[Person], when: date) -> tuple[Any, ...]:
        return color, point, people, when

    arguments = {"color": "blue", "point": {"x": 1}, "people": [{"name": "Ada"}], "when": "2026-01-02"}
    jsonschema.validate(arguments, as_tool(tool).parameters)
    assert run(tool, **arguments) == (Color.BLUE, Point(1), [Person(name="Ada")], date(2026, 1, 2))


@pytest.mark.parametrize(
    ("default", "shown"), [(Color.RED, "red"), (Point(1, 2), {"x": 1, "y": 2}), (None, None), ((1, 2), [1, 2])]
)
def test_a_default_is_shown_as_json_and_given_as_it_is(default: Any, shown: Any) -> None:
    def tool(value: Any = default) -> Any:
        return value

    assert properties(tool)["value"]["default"] == shown
    assert run(tool) is default


def test_a_default_that_is_no_json_is_not_shown_and_never_copied() -> None:
    sentinel = object()

    def tool(value: int | None = sentinel) -> Any:  # type: ignore[assignment]
        return value

    assert "default" not in properties(tool)["value"]
    assert run(tool) is sentinel


def test_a_mutable_default_is_the_functions_own() -> None:
    memory: list[int] = []

    def tool(seen: list[int] = memory) -> list[int]:
        return seen

    assert run(tool) is memory


def test_a_default_of_none_accepts_null() -> None:
    def tool(limit: int = None, name: Annotated[str, Field(description="Who")] = None) -> Any:  # type: ignore[assignment] # noqa: RUF013
        return limit, name

    jsonschema.validate({"limit": None, "name": None}, as_tool(tool).parameters)
    assert run(tool, limit=None, name=None) == (None, None)
    assert properties(tool)["name"]["description"] == "Who"


def test_a_field_as_default_describes_and_fills() -> None:
    def tool(city: str = Field("Rome", description="Where"), country: str = Field(description="Which")) -> Any:
        return city, country

    assert properties(tool)["city"] == {"type": "string", "default": "Rome", "description": "Where"}
    assert as_tool(tool).parameters["required"] == ["country"]
    assert run(tool, country="Italy") == ("Rome", "Italy")


def test_a_default_inside_annotated_fills() -> None:
    def tool(city: Annotated[str, Field(default="Rome")]) -> str:
        return city

    assert run(tool) == "Rome"


def test_a_description_in_the_hint_goes_before_the_docstring() -> None:
    def tool(city: Annotated[str, Field(description="from the hint")]) -> None:
        """Look.

        Args:
            city: from the docstring
        """

    assert properties(tool)["city"]["description"] == "from the hint"


@pytest.mark.parametrize(
    "name",
    [
        "schema",
        "copy",
        "json",
        "model_config",
        "model_fields",
        "model_dump",
        "_hidden",
        "__dunder",
        "p0",
        "p1",
        "self_",
        "validate",
        "register",
        "arguments",
        "function",
    ],
)
def test_a_parameter_may_bear_any_name(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def tool({name}: int, other: int = 2): return {name}, other", scope)
    assert list(properties(scope["tool"])) == [name, "other"]
    assert run(scope["tool"], **{name: "1"}) == (1, 2)


def test_positional_only_parameters_are_filled_in_order() -> None:
    def tool(a: int, b: int = 2, c: int = 3, /, d: int = 4, *, e: int = 5) -> tuple[int, ...]:
        return a, b, c, d, e

    assert run(tool, a=1) == (1, 2, 3, 4, 5)
    assert run(tool, a=1, c=9, e=7) == (1, 2, 9, 4, 7)


@pytest.mark.parametrize("arguments", [{}, {"a": "x"}, {"a": 1, "b": 2}])
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any]) -> None:
    def tool(a: int) -> int:
        return a

    with pytest.raises(ValidationError):
        run(tool, **arguments)


def test_star_args_are_refused_by_name() -> None:
    def tool(a: int, *rest: int) -> None: ...

    with pytest.raises(InvalidToolError, match=r"'tool', field '\*rest'"):
        as_tool(tool)


def test_only_double_star_is_refused() -> None:
    def tool(**anything: Any) -> None: ...

    with pytest.raises(InvalidToolError, match=r"functools\.wraps"):
        as_tool(tool)


def test_double_star_after_named_parameters_takes_more() -> None:
    def tool(a: int, **more: Any) -> dict[str, Any]:
        return {"a": a, **more}

    assert as_tool(tool).parameters["additionalProperties"] is True
    assert run(tool, a=1, b=2) == {"a": 1, "b": 2}


def test_what_wraps_hides_is_seen() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @logged
    def add(a: int, b: int) -> int:
        return a + b

    @logged
    def negate(value: int) -> int:
        return -value

    assert [list(properties(tool)) for tool in (add, negate)] == [["a", "b"], ["value"]]
    assert run(add, a=1, b=2) == 3


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize(
    ("bound", "left", "arguments"),
    [
        (functools.partial(add, 5), ["b"], {"b": 3}),
        (functools.partial(add, b=3), ["a"], {"a": 5}),
        (functools.partial(functools.partial(add, b=3), 5), [], {}),
        (functools.partial(add, a=5), ["b"], {"b": 3}),
    ],
)
def test_bound_arguments_vanish(bound: Any, left: list[str], arguments: dict[str, Any]) -> None:
    tool = as_tool(bound)
    assert (tool.name, tool.description, list(tool.parameters["properties"])) == ("add", "Add two numbers.", left)
    assert run(bound, **arguments) == 8


class Calculator:
    """Adds."""

    def __init__(self, start: int = 0) -> None:
        self.start = start

    def plus(self, a: int) -> int:
        """Add to the start."""
        return self.start + a

    @classmethod
    def named(cls, a: int) -> str:
        return f"{cls.__name__}{a}"

    @staticmethod
    def double(a: int) -> int:
        return 2 * a

    def __call__(self, a: int) -> int:
        return self.start + a


def test_methods_of_every_kind_are_tools() -> None:
    kinds = [Calculator(1).plus, Calculator.named, Calculator.double, Calculator(5)]
    assert [list(properties(kind)) for kind in kinds] == [["a"]] * 4
    assert [run(kind, a=3) for kind in kinds] == [4, "Calculator3", 6, 8]


def test_each_instance_runs_itself() -> None:
    assert [run(Calculator(start).plus, a=1) for start in (1, 10)] == [2, 11]


def test_a_callable_object_speaks_with_the_voice_of_its_class() -> None:
    tool = as_tool(Calculator())
    assert (tool.name, tool.description) == ("Calculator", "Adds.")


def test_an_unbound_method_needs_its_object() -> None:
    tool = as_tool(Calculator.plus)
    assert (list(tool.parameters["properties"]), tool.executor) == (["a"], None)


def test_a_class_is_no_tool() -> None:
    with pytest.raises(InvalidToolError, match="a class is no tool"):
        as_tool(Calculator)


def test_a_lambda_needs_a_key() -> None:
    with pytest.raises(InvalidToolError, match="give it a key"):
        as_tool(lambda a: a)
    tool = as_tools({"same": lambda a: a})[0]
    assert (tool.id, tool.name) == ("same", "same")


async def later(a: int) -> int:
    return a


class Later:
    async def __call__(self, a: int) -> int:
        return a


@pytest.mark.parametrize("function", [later, functools.partial(later), Later(), functools.partial(Later())])
async def test_what_is_async_stays_async(function: Any) -> None:
    executor = as_tool(function).executor
    assert inspect.iscoroutinefunction(executor)
    assert await executor(a=1) == 1


def test_what_is_sync_stays_sync() -> None:
    assert not asyncio.iscoroutinefunction(as_tool(add).executor)


def test_a_builtin_with_a_signature_is_a_tool() -> None:
    assert run(divmod, x=7, y=2) == (3, 1)


def test_what_cannot_be_referenced_weakly_is_read_each_time() -> None:
    slot = str.__len__
    assert (as_tool(slot).parameters["properties"], as_tool(slot).executor) == ({}, None)
    bound = "four".__len__
    assert [run(bound), run(bound)] == [4, 4]


def test_a_builtin_without_a_signature_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="cannot be read"):
        as_tool(max)


T = TypeVar("T")


class RunContext(Generic[T]):
    """As Pydantic AI's."""


class InjectedState:
    """As LangGraph's."""


def with_context(ctx: RunContext[int], a: int) -> None: ...
def with_text_context(ctx: "RunContext[Nowhere]", a: int) -> None: ...  # type: ignore[name-defined] # noqa: F821
def with_optional_context(a: int, ctx: RunContext[int] | None) -> None: ...
def with_annotated_context(a: int, ctx: Annotated[RunContext[int], "note"]) -> None: ...
def with_injected(a: int, state: Annotated[dict[str, Any], InjectedState]) -> None: ...
def with_untyped_context(ctx, a: int): ...  # type: ignore[no-untyped-def]
def with_named_context(context, a: int): ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    "function",
    [
        with_context,
        with_text_context,
        with_optional_context,
        with_annotated_context,
        with_injected,
        with_untyped_context,
        with_named_context,
    ],
)
def test_a_context_is_no_parameter_and_only_its_framework_runs_the_tool(function: Any) -> None:
    tool = as_tool(function)
    assert (list(tool.parameters["properties"]), tool.executor) == (["a"], None)


def test_a_context_with_a_default_leaves_the_tool_runnable() -> None:
    def tool(a: int, ctx: RunContext[int] | None = None) -> Any:
        return a, ctx

    assert run(tool, a=1) == (1, None)


def test_a_typed_parameter_named_context_is_a_parameter() -> None:
    def tool(context: str) -> None: ...

    assert list(properties(tool)) == ["context"]


def test_a_hint_that_names_nothing_accepts_anything_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    def tool(a: "Nowhere", b: "int") -> Any:  # type: ignore[name-defined] # noqa: F821
        return a, b

    with caplog.at_level(logging.WARNING):
        assert properties(tool) == {"a": {}, "b": {"type": "integer"}}
    assert "'Nowhere' of parameter 'a'" in caplog.text
    assert run(tool, a=[1], b=2) == ([1], 2)


class Connection:
    """Nothing that JSON could say."""


@pytest.mark.parametrize("hint", [Connection, Callable[[int], int], 5])
def test_a_parameter_no_json_can_fill_is_refused_by_name(hint: Any) -> None:
    def tool(a, b): ...  # type: ignore[no-untyped-def]

    tool.__annotations__ = {"a": int, "b": hint}
    with pytest.raises(InvalidToolError) as caught:
        as_tool(tool)
    assert (caught.value.tool, caught.value.field) == ("tool", "b")


def test_a_parameter_no_json_can_fill_keeps_its_default() -> None:
    connection = Connection()

    def tool(a: int, b: Connection = connection, c: int = 1) -> Any:
        return a, b, c

    assert list(properties(tool)) == ["a", "c"]
    assert run(tool, a=1, c=3) == (1, connection, 3)


def test_a_function_is_read_once() -> None:
    assert describe(add) is describe(add)


def test_equal_functions_made_for_each_request_are_read_once() -> None:
    def request(user: str) -> Callable[..., Any]:
        def get_mail(folder: str = "inbox") -> str:
            """Read mail."""
            return f"{user}:{folder}"

        return get_mail

    ada, bob = request("ada"), request("bob")
    assert describe(ada) is describe(bob)
    assert [run(ada), run(bob)] == ["ada:inbox", "bob:inbox"]


@pytest.mark.parametrize(("first", "second"), [(1, True), (1, 2), ("a", None)])
def test_functions_of_one_code_that_differ_in_a_default_are_told_apart(first: Any, second: Any) -> None:
    def request(default: Any) -> Callable[..., Any]:
        def tool(value: Any = default) -> Any:
            return value

        return tool

    shown = [properties(request(default))["value"]["default"] for default in (first, second)]
    assert list(map(repr, shown)) == [repr(first), repr(second)]


def test_functions_of_one_code_that_differ_in_a_hint_are_told_apart() -> None:
    def request(hint: Any) -> Callable[..., Any]:
        def tool(value): ...  # type: ignore[no-untyped-def]

        tool.__annotations__ = {"value": hint}
        return tool

    assert [properties(request(hint))["value"]["type"] for hint in (int, str)] == ["integer", "string"]


def test_hints_in_text_mean_what_each_namespace_means() -> None:
    source = "def tool(value: 'Kind'): return value"
    code = compile(source, "tool.py", "exec")
    schemas = []
    for kind in (int, str):
        scope: dict[str, Any] = {"Kind": kind, "__name__": __name__}
        exec(code, scope)
        schemas.append(properties(scope["tool"]))
    assert schemas == [{"value": {"type": "integer"}}, {"value": {"type": "string"}}]


def test_a_module_gives_its_functions_made_anew_one_reading() -> None:
    def request() -> Callable[..., Any]:
        def tool(value: "Color") -> Any:
            return value

        return tool

    assert describe(request()) is describe(request())
    assert run(request(), value="red") is Color.RED


def test_what_is_remembered_keeps_no_function_alive() -> None:
    def request() -> Callable[..., Any]:
        secret = Connection()

        def tool(a: int, b: Connection = secret) -> Any:
            return a, secret

        return tool

    function = request()
    as_tool(function)
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert gone() is None


def test_tools_of_one_function_are_two_objects() -> None:
    first, second = as_tool(add), as_tool(add)
    assert (first is second, first.original is second.original) == (False, True)
