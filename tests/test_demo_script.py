"""The scripted model takes nothing for granted: whatever does not happen ends the script with a reason."""

from typing import Any

import pytest

from toolsearch.demo.scenario import REPORTS, Call, Reply, StuckError, model

FOUND = Reply({"results": [{"name": "s3__create_bucket"}]}, is_error=False)
LOADED = Reply({"loaded": ["s3__create_bucket"], "already_loaded": []}, is_error=False)
REFUSED = Reply({"parameters": {"properties": {"Bucket": {}}}}, is_error=True)


def play(*replies: Reply) -> Call:
    """The call the model makes after these replies."""
    script = model(REPORTS)
    call = next(script)
    for reply in replies:
        call = script.send(reply)
    return call


def test_the_model_searches_in_words_of_the_task_and_not_for_a_name() -> None:
    assert play() == Call("search_tools", {"query": "create a bucket"})


def test_the_model_mends_its_arguments_after_the_refusal() -> None:
    assert play(FOUND, LOADED) == Call("s3__create_bucket", {"Name": "quarterly-reports"})
    assert play(FOUND, LOADED, REFUSED) == Call("s3__create_bucket", {"Bucket": "quarterly-reports"})


def ok(content: Any) -> Reply:
    return Reply(content, is_error=False)


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([ok({"results": [{"name": "s3__head_bucket"}]})], "did not find s3__create_bucket; it found"),
        ([FOUND, ok({"loaded": [], "already_loaded": [], "message": "Not found."})], "did not load: Not found."),
        ([FOUND, LOADED, ok({"simulated": True})], "accepted arguments that do not fit its schema"),
        (
            [FOUND, LOADED, Reply({"parameters": {"properties": {"Other": {}}}}, is_error=True)],
            r"does not know \['Bucket'\]",
        ),
        (
            [FOUND, LOADED, REFUSED, Reply("ParamValidationError: no", is_error=True)],
            "refused the call: ParamValidation",
        ),
    ],
)
def test_whatever_does_not_happen_ends_the_script(replies: list[Reply], reason: str) -> None:
    with pytest.raises(StuckError, match=reason):
        play(*replies)
