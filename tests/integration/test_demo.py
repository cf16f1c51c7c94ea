"""The demo from end to end: the scripted agent on real operations, through the real processor."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fakes import WordEncoder
from typer.testing import CliRunner, Result

from toolsearch import cli
from toolsearch.cache import CachedEncoder
from toolsearch.demo.agent import Gauge
from toolsearch.demo.aws import cloud_tools
from toolsearch.demo.play import Outcome, play
from toolsearch.demo.scenario import REPORTS
from toolsearch.demo.stage import set_stage
from toolsearch.embedding.registry import load_encoder
from toolsearch.tokens import estimate, tool_tokens, transcript_tokens
from toolsearch.tool import Tool

SERVICES = "s3,sns,ssm"
"""The three the task needs: some 300 operations."""


@pytest.fixture(scope="module")
def tools() -> list[Tool]:
    return cloud_tools(SERVICES.split(","))


@pytest.fixture(scope="module")
def outcome(tools: list[Tool], tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("cache")
    with CachedEncoder(WordEncoder(), folder=folder) as encoder:
        return play(set_stage(tools, encoder=encoder, top_k=5), REPORTS)


def run(*arguments: str, obj: Any = None) -> Result:
    return CliRunner().invoke(cli.app, ["demo", "--services", SERVICES, *arguments], obj=obj or WordEncoder())


def calls(outcome: Outcome) -> list[str]:
    return [step.call.name for step in outcome.steps if step.call is not None]


def test_the_agent_calls_three_tools_of_three_services(outcome: Outcome) -> None:
    assert outcome.problem is None
    assert outcome.called == ("s3__create_bucket", "sns__publish", "ssm__put_parameter")


def test_the_agent_finds_each_tool_by_searching_and_loads_it_before_it_calls_it(outcome: Outcome) -> None:
    assert calls(outcome) == [
        *("search_tools", "load_tool", "s3__create_bucket", "s3__create_bucket"),
        *("search_tools", "load_tool", "sns__publish"),
        *("search_tools", "load_tool", "ssm__put_parameter"),
    ]


def test_a_loaded_tool_is_visible_from_the_next_step_on_behind_those_loaded_before(outcome: Outcome) -> None:
    seen = list(dict.fromkeys(step.visible for step in outcome.steps))
    meta = ("search_tools", "load_tool")
    assert seen == [
        meta,
        (*meta, "s3__create_bucket"),
        (*meta, "s3__create_bucket", "sns__publish"),
        (*meta, "s3__create_bucket", "sns__publish", "ssm__put_parameter"),
    ]


def test_the_gate_refuses_the_wrong_arguments_once_and_its_answer_carries_the_schema(outcome: Outcome) -> None:
    refused = [step for step in outcome.steps if step.reply is not None and step.reply.is_error]
    assert [step.number for step in refused] == [3]
    assert refused[0].reply is not None
    assert refused[0].reply.content["parameters"]["required"] == ["Bucket"]


def test_what_one_tool_answers_reaches_the_next(outcome: Outcome) -> None:
    replies = {step.call.name: step for step in outcome.steps if step.call is not None}
    bucket, publish = replies["s3__create_bucket"], replies["sns__publish"]
    assert bucket.reply is not None
    assert publish.call is not None
    assert bucket.reply.content["output"]["Location"] in publish.call.arguments["Message"]


def test_each_step_is_weighed_against_every_definition_in_the_prompt(outcome: Outcome, tools: list[Tool]) -> None:
    first = outcome.steps[0]
    task = [{"role": "user", "content": REPORTS.task}]
    gauge = Gauge(estimate, sum(tool_tokens(tool, estimate) for tool in tools))
    assert gauge.everything(task) == transcript_tokens(task, estimate, tools=tools)
    assert all(step.tokens < step.everything for step in outcome.steps)
    assert first.tokens < 1_000


def test_the_comparison_leaves_out_the_model_calls_that_only_tool_search_needs(outcome: Outcome) -> None:
    # Four calls of real tools, the refused one among them, and the model's last words.
    assert outcome.calls_with_everything == 5
    assert outcome.everything == sum(step.everything for step in outcome.steps if step.number in {3, 4, 7, 10, 11})


def test_a_second_run_embeds_nothing_and_says_so(tmp_path: Path) -> None:
    folder = str(tmp_path / "cache")
    first, second = WordEncoder(), WordEncoder()
    run("--cache-dir", folder, obj=first)
    again = run("--cache-dir", folder, obj=second)
    assert first.texts_seen > 300
    assert second.texts_seen == 0
    assert f"embedded 0 new texts; {first.texts_seen - 3} from cache" in again.stdout
    assert again.exit_code == 0


def test_every_step_is_shown_with_its_tools_tokens_latency_and_result(tmp_path: Path) -> None:
    shown = run("--cache-dir", str(tmp_path)).stdout
    assert shown.count("The model searches") == 3
    assert shown.count("against") == 11
    assert shown.count(" ms, embedded 1 new text") == 3
    assert re.search(r"found +0\.\d\d s3__create_bucket +Creates a new S3 bucket", shown)
    assert "refused" in shown
    assert "Call it again with arguments that do." in " ".join(shown.split())
    assert '"simulated": true' in shown
    assert "of the tokens" in shown


def test_json_holds_the_same_as_one_object(tmp_path: Path) -> None:
    record = json.loads(run("--cache-dir", str(tmp_path), "--json").stdout)
    assert (record["succeeded"], record["problem"]) == (True, None)
    assert record["total"]["called"] == ["s3__create_bucket", "sns__publish", "ssm__put_parameter"]
    assert record["total"]["tokens"] == sum(step["tokens"] for step in record["steps"])
    assert len(record["steps"]) == 11


def test_a_demo_that_does_not_find_its_tool_says_so_and_exits_1(tmp_path: Path) -> None:
    arguments = ["demo", "--services", "s3,sns", "--cache-dir", str(tmp_path)]
    result = CliRunner().invoke(cli.app, arguments, obj=WordEncoder())
    assert result.exit_code == 1
    assert "The demo failed: searching for 'save a value in the parameter store' did not find ssm__put_parameter" in (
        " ".join(result.stdout.split())
    )


def test_a_demo_that_fails_is_a_json_object_too(tmp_path: Path) -> None:
    arguments = ["demo", "--services", "s3", "--cache-dir", str(tmp_path), "--json"]
    result = CliRunner().invoke(cli.app, arguments, obj=WordEncoder())
    record = json.loads(result.stdout)
    assert (result.exit_code, record["succeeded"]) == (1, False)
    assert "did not find sns__publish" in record["problem"]


def test_what_a_tool_raises_reaches_the_model_as_an_error_and_ends_a_script_that_expected_none(
    tools: list[Tool], tmp_path: Path
) -> None:
    def broken(**arguments: Any) -> Any:
        raise RuntimeError(f"no disk for {arguments['Bucket']}")

    bucket = next(tool for tool in tools if tool.id == "s3__create_bucket").model_copy(update={"executor": broken})
    with CachedEncoder(WordEncoder(), folder=tmp_path) as encoder:
        outcome = play(set_stage([bucket], encoder=encoder, top_k=5), REPORTS)
    assert outcome.problem == "s3__create_bucket refused the call: RuntimeError: no disk for quarterly-reports"


SLOW_MODEL = """
import signal, sys, time
sys.path.insert(0, {tests!r})
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
from fakes import WordEncoder
from toolsearch import cli

class Slow(WordEncoder):
    def encode(self, texts, role):
        if self.calls == 2:
            print("ready", file=sys.stderr, flush=True)
            time.sleep(60)
        return super().encode(texts, role)

cli.app(["demo", "--services", "s3,sns,ssm", "--cache-dir", {folder!r}], obj=Slow(), prog_name="toolsearch")
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_keeps_what_was_embedded_and_exits_130(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    code = SLOW_MODEL.format(tests=str(Path(__file__).parents[1]), folder=str(folder))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stderr is not None
        while "ready" not in (line := demo.stderr.readline()):
            assert line, "the demo ended before it was interrupted"
        time.sleep(0.1)
        demo.send_signal(2)
        stdout, stderr = demo.communicate(timeout=30)
    assert (demo.returncode, stdout) == (130, "")
    assert stderr.endswith("What was embedded stays in the cache: the same command goes on from there.\n")
    rest = WordEncoder()
    run("--cache-dir", str(folder), obj=rest)
    whole = len(cloud_tools(SERVICES.split(",")))
    assert rest.texts_seen - 3 == whole - 256


@pytest.mark.model
def test_the_default_model_finds_the_three_tools(tools: list[Tool], tmp_path: Path) -> None:
    wanted = {errand.tool for errand in REPORTS.errands}
    # Every fifth of the others: embedding all of them takes a minute on a busy machine.
    some = [tool for place, tool in enumerate(tools) if place % 5 == 0 or tool.id in wanted]
    with CachedEncoder(load_encoder(), folder=tmp_path) as encoder:
        outcome = play(set_stage(some, encoder=encoder, top_k=5), REPORTS)
    assert outcome.problem is None
    assert set(outcome.called) == wanted
