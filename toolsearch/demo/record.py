"""The play as a program reads it: one JSON object."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from toolsearch.console.answer import Answer, answer_record
from toolsearch.console.effort import Effort
from toolsearch.demo.agent import Step
from toolsearch.demo.play import Outcome
from toolsearch.demo.scenario import Scenario
from toolsearch.demo.stage import Stage
from toolsearch.tool import Tool


def play_record(stage: Stage, scenario: Scenario, outcome: Outcome) -> dict[str, Any]:
    """Everything the terminal shows, unshortened; seconds and token counts are numbers."""
    return {
        "task": scenario.task,
        "succeeded": outcome.problem is None,
        "problem": outcome.problem,
        "catalog": {
            "tools": len(stage.tools),
            "services": list(stage.services),
            "tokens": stage.gauge.all_definitions,
        },
        "indexing": asdict(stage.effort),
        "steps": [_step_record(step) for step in outcome.steps],
        "total": {
            "tokens": outcome.tokens,
            "tokens_with_all_tools": outcome.everything,
            "model_calls": len(outcome.steps),
            "model_calls_with_all_tools": outcome.calls_with_everything,
            "searches": [asdict(effort) for effort in outcome.searches],
            "called": list(outcome.called),
        },
    }


def answers_record(tools: Sequence[Tool], effort: Effort, answers: Sequence[Answer]) -> dict[str, Any]:
    """The same catalog asked in one's own words; `effort` is that of making it searchable."""
    return {
        "catalog": {"tools": len(tools)},
        "indexing": asdict(effort),
        "answers": [answer_record(answer) for answer in answers],
    }


def _step_record(step: Step) -> dict[str, Any]:
    return {
        "number": step.number,
        "tools": list(step.visible),
        "tokens": step.tokens,
        "tokens_with_all_tools": step.everything,
        "call": None if step.call is None else {"name": step.call.name, "arguments": dict(step.call.arguments)},
        "reply": None if step.reply is None else {"content": step.reply.content, "is_error": step.reply.is_error},
        "effort": None if step.effort is None else asdict(step.effort),
        "words": step.words,
    }
