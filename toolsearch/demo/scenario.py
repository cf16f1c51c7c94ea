"""A scenario: a task in a user's words, and a model's part in it, written down move by move."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolsearch.transcript import LOAD_TOOL, SEARCH_TOOLS

Answers: TypeAlias = Mapping[str, Any]
"""What the tools called so far have answered, by tool id."""
Arguments: TypeAlias = Mapping[str, Any]


class StuckError(Exception):
    """What the script counted on did not happen; its message says what did."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the model."""

    name: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from a call."""

    content: Any
    is_error: bool


@dataclass(frozen=True, slots=True)
class Errand:
    """One capability the task needs."""

    words: str
    """What the model searches for: what it wants to do, not the name of anything."""
    tool: str
    """The id of the tool a sensible model would pick from the results."""
    arguments: Callable[[Answers], Arguments]
    mistake: Arguments | None = None
    """Wrong arguments that it tries first; the refusal has to teach it better."""


@dataclass(frozen=True, slots=True)
class Scenario:
    task: str
    errands: tuple[Errand, ...]
    conclusion: Callable[[Answers], str]
    """The model's last words, when every errand is done."""


TOPIC = "arn:aws:sns:us-east-1:123456789012:finance"
BUCKET = "quarterly-reports"

REPORTS = Scenario(
    task=(
        f"Make a bucket called {BUCKET} for our quarterly reports, tell the finance team's topic ({TOPIC}) "
        "where it is, and keep its name in the parameter store under /finance/reports-bucket."
    ),
    errands=(
        Errand(
            words="create a bucket",
            tool="s3__create_bucket",
            mistake={"Name": BUCKET},
            arguments=lambda _: {"Bucket": BUCKET},
        ),
        Errand(
            words="send a message to everybody who subscribed to a topic",
            tool="sns__publish",
            arguments=lambda answers: {
                "TopicArn": TOPIC,
                "Subject": "Quarterly reports",
                "Message": f"The bucket for the reports is {answers['s3__create_bucket']['output']['Location']}",
            },
        ),
        Errand(
            words="save a value in the parameter store",
            tool="ssm__put_parameter",
            arguments=lambda _: {"Name": "/finance/reports-bucket", "Value": BUCKET, "Type": "String"},
        ),
    ),
    conclusion=lambda answers: (
        f"Done: the bucket {BUCKET} exists, message {answers['sns__publish']['output']['MessageId'][:8]} told the finance "
        f"team, and the parameter store keeps its name (version {answers['ssm__put_parameter']['output']['Version']})."
    ),
)


def model(scenario: Scenario) -> Generator[Call, Reply, str]:
    """The scripted model: yields its next call, is sent the reply, and returns its last words.

    It takes nothing for granted: a search that did not find the tool, a load that did not load it, a wrong call that
    was let through and a right one that was refused all end the script.

    Raises:
        StuckError: one of these happened.
    """
    answers: dict[str, Any] = {}
    for errand in scenario.errands:
        found = yield Call(SEARCH_TOOLS, {"query": errand.words})
        names = [result["name"] for result in found.content["results"]]
        if errand.tool not in names:
            raise StuckError(f"searching for {errand.words!r} did not find {errand.tool}; it found {names}.")
        loaded = yield Call(LOAD_TOOL, {"tool_name": errand.tool})
        if errand.tool not in [*loaded.content["loaded"], *loaded.content["already_loaded"]]:
            raise StuckError(f"{errand.tool} did not load: {loaded.content['message']}")
        if errand.mistake is not None:
            refusal = yield Call(errand.tool, errand.mistake)
            if not refusal.is_error:
                raise StuckError(f"{errand.tool} accepted arguments that do not fit its schema.")
            # The refusal brings the schema: what the model sends next has to be what it reads there.
            known = set(refusal.content["parameters"]["properties"])
            if unknown := set(errand.arguments(answers)) - known:
                raise StuckError(f"the schema in the refusal of {errand.tool} does not know {sorted(unknown)}.")
        answer = yield Call(errand.tool, errand.arguments(answers))
        if answer.is_error:
            raise StuckError(f"{errand.tool} refused the call: {answer.content}")
        answers[errand.tool] = answer.content
    return scenario.conclusion(answers)
