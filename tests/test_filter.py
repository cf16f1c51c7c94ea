"""May this tool be seen, loaded, kept? A rule that fails says no."""

import asyncio
import logging
from typing import Any, Literal

import pytest

from toolsearch.errors import AsyncFilterError
from toolsearch.filter import Phase, Policy
from toolsearch.tool import Tool
from toolsearch.waiting import OnLoop, Waiting, drive

MAIL = Tool(id="send_mail", name="sendMail")
OTHER = Tool(name="read_mail")


def asked(policy: Policy, tool: Tool = MAIL, phase: Phase = "search", context: Any = None) -> bool:
    async def logic(waiting: Waiting) -> bool:
        return await policy.allows(tool, phase, context, waiting)

    return drive(logic, use="aallows()")


class Recorded:
    """A rule that notes what it was asked and says what it was told to."""

    def __init__(self, verdict: Any = True) -> None:
        self.verdict = verdict
        self.questions: list[tuple[str, Tool, Any, str]] = []

    def __call__(self, *, tool_name: str, tool: Tool, request_context: Any, phase: str) -> Any:
        self.questions.append((tool_name, tool, request_context, phase))
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict


class Undecided:
    """Neither true nor false, as an array of several numbers is."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


def test_without_a_rule_everything_is_allowed() -> None:
    assert (asked(Policy(None)), Policy(None).restricts, Policy(Recorded()).restricts) == (True, False, True)


@pytest.mark.parametrize("phase", ["search", "load", "active"])
def test_the_rule_is_asked_by_keyword_with_name_tool_context_and_phase(
    phase: Literal["search", "load", "active"],
) -> None:
    rule, context = Recorded(), object()
    asked(Policy(rule), MAIL, phase, context)
    assert rule.questions == [("send_mail", MAIL, context, phase)]
    assert rule.questions[0][1] is MAIL


@pytest.mark.parametrize(
    ("verdict", "allowed"),
    [(True, True), (1, True), ("yes", True), (False, False), (None, False), (0, False), ("", False), ([], False)],
)
def test_what_is_false_like_denies(verdict: object, allowed: bool) -> None:
    async def asynchronous(**_: Any) -> object:
        await asyncio.sleep(0)
        return verdict

    assert (asked(Policy(Recorded(verdict))), asked(Policy(asynchronous))) == (allowed, allowed)


def test_an_asynchronous_rule_is_awaited_on_the_loop_too() -> None:
    async def asynchronous(*, tool_name: str, **_: Any) -> bool:
        await asyncio.sleep(0)
        return tool_name == "send_mail"

    async def main() -> list[bool]:
        return [await Policy(asynchronous).allows(tool, "load", None, OnLoop()) for tool in (MAIL, OTHER)]

    assert asyncio.run(main()) == [True, False]


def test_a_rule_that_raises_denies() -> None:
    async def asynchronous(**_: Any) -> bool:
        await asyncio.sleep(0)
        raise OSError("down")

    wrong_signature: Any = lambda tool: True  # noqa: E731
    rules: list[Any] = [
        Recorded(ValueError("no")),
        Recorded(StopIteration()),
        Recorded(Undecided()),
        asynchronous,
        wrong_signature,
    ]
    assert [asked(Policy(rule)) for rule in rules] == [False] * 5


def test_a_rule_that_forgot_an_await_is_awaited_to_its_verdict() -> None:
    async def verdict(*, tool_name: str, **_: Any) -> bool:
        return tool_name == "read_mail"

    async def forgetful(**question: Any) -> Any:
        return verdict(**question)

    assert [asked(Policy(forgetful), tool) for tool in (MAIL, OTHER)] == [False, True]


def test_a_rule_that_yields_denies() -> None:
    def yields(**_: Any) -> Any:
        yield True

    async def yields_later(**_: Any) -> Any:
        yield True

    assert [asked(Policy(rule)) for rule in (yields, yields_later)] == [False, False]


def test_a_failure_is_logged_once_a_tool_and_phase_with_both_and_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    policy = Policy(Recorded(OSError("policy service down")))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            for tool in (MAIL, OTHER):
                asked(policy, tool, "search")
            asked(policy, MAIL, "load")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 3
    assert ["'send_mail'" in said[0], "'read_mail'" in said[1], "'load'" in said[2]] == [True] * 3
    assert "policy service down" in caplog.text


def test_a_denial_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        asked(Policy(Recorded(False)))
    assert [record for record in caplog.records if record.name.startswith("toolsearch")] == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_what_ends_the_program_is_no_denial(error: BaseException) -> None:
    with pytest.raises(type(error)):
        asked(Policy(Recorded(error)))


def test_a_cancelled_step_is_cancelled_while_the_rule_is_awaited() -> None:
    async def endless(**_: Any) -> bool:
        await asyncio.sleep(3600)
        return True

    async def main() -> None:
        await asyncio.wait_for(Policy(endless).allows(MAIL, "load", None, OnLoop()), 0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_an_asynchronous_rule_in_the_synchronous_entry_inside_a_loop_is_an_error_and_no_denial() -> None:
    async def asynchronous(**_: Any) -> bool:
        return True

    async def main() -> bool:
        return asked(Policy(asynchronous))

    with pytest.raises(AsyncFilterError, match="The filter is asynchronous"):
        asyncio.run(main())
