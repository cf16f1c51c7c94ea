"""Cloud operations as tools: real names, real schemas, and answers that need no network."""

import json
import sys
from typing import Any

import jsonschema
import pytest
from botocore.exceptions import ParamValidationError
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from toolsearch.demo.aws import SERVICES, cloud_tools
from toolsearch.demo.prose import first_sentences
from toolsearch.demo.schema import arguments_schema
from toolsearch.errors import MissingPackageError, OptionError
from toolsearch.tool import Tool

FEW = ("scheduler", "sns", "sqs", "sts")
"""Small services with every kind of shape between them; all of them would take half a minute."""


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    return {tool.id: tool for tool in cloud_tools([*FEW, "dynamodb"])}


def model(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


def smallest(schema: Any, root: Any) -> Any:
    """The smallest value a schema describes, written against JSON Schema alone."""
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            names = list(schema.get("required", []))
            names += list(schema.get("properties", {}))[: schema.get("minProperties", 0) - len(names)]
            return {name: smallest(schema["properties"][name], root) for name in names}
        case "array":
            return [smallest(schema["items"], root)] * schema.get("minItems", 0)
        case "string":
            return "2026-01-01T00:00:00Z" if schema.get("format") else "x" * schema.get("minLength", 1)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return {}


def test_there_are_more_than_1500_operations_of_more_than_20_services_and_each_id_is_legal_and_its_own() -> None:
    found = cloud_tools()
    assert len(found) >= 1500
    assert {tool.server for tool in found} == set(SERVICES)
    assert len(SERVICES) >= 20
    assert len({tool.id for tool in found}) == len(found)
    assert [
        tool.id for tool in found if not (0 < len(tool.id) <= 64 and tool.id.replace("-", "_").isidentifier())
    ] == []


def test_an_operation_keeps_the_name_its_api_gives_it(tools: dict[str, Tool]) -> None:
    tool = tools["sns__publish"]
    assert (tool.name, tool.server) == ("Publish", "sns")
    assert tool.description.startswith("Sends a message to an Amazon SNS topic, a text message (SMS message)")


def test_every_operation_says_what_it_does_in_plain_text(tools: dict[str, Tool]) -> None:
    odd = [
        tool.id
        for tool in tools.values()
        if not tool.description or "</" in tool.description or "&amp;" in tool.description
    ]
    assert odd == []


def test_every_schema_is_a_valid_json_schema(tools: dict[str, Tool]) -> None:
    for tool in tools.values():
        if tool.server in FEW or tool.id == "dynamodb__put_item":
            jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))


@pytest.mark.parametrize("service", FEW)
def test_what_the_schema_asks_for_is_what_botocore_accepts(service: str, tools: dict[str, Tool]) -> None:
    operations = model(service)
    reports = {}
    for tool in tools.values():
        if tool.server == service and (shape := operations.operation_model(tool.name).input_shape):
            operation = operations.operation_model(tool.name)
            arguments = smallest(tool.parameters, tool.parameters) | dict.fromkeys(
                operation.idempotent_members, "token"
            )
            if (errors := ParamValidator().validate(arguments, shape)).has_errors():
                reports[tool.id] = errors.generate_report()
    assert reports == {}


def test_a_structure_that_contains_itself_is_written_once(tools: dict[str, Tool]) -> None:
    schema = tools["dynamodb__put_item"].parameters
    value = schema["$defs"]["AttributeValue"]
    assert value["properties"]["M"]["additionalProperties"] == {"$ref": "#/$defs/AttributeValue"}
    item = {"name": {"M": {"first": {"S": "Ada"}, "born": {"N": "1815"}}}}
    jsonschema.validate({"TableName": "people", "Item": item}, schema)


def test_a_token_that_a_client_fills_in_is_not_asked_of_the_model(tools: dict[str, Tool]) -> None:
    shape = model("sqs").operation_model("SendMessage").input_shape
    assert arguments_schema(shape)["required"] == ["QueueUrl", "MessageBody"]
    assert arguments_schema(shape, filled_in=["QueueUrl"])["required"] == ["MessageBody"]
    assert tools["scheduler__delete_schedule_group"].parameters["required"] == ["Name"]


def test_an_operation_without_input_takes_an_empty_object() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"anything": 1}, arguments_schema(None))


def run(tool: Tool, **arguments: Any) -> Any:
    assert tool.executor is not None
    return tool.executor(**arguments)


def test_equal_arguments_give_equal_answers_and_others_give_others(tools: dict[str, Tool]) -> None:
    publish = tools["sns__publish"]
    first, again, other = (run(publish, TopicArn="arn", Message=text) for text in ("a", "a", "b"))
    assert first == again
    assert first["output"]["MessageId"] != other["output"]["MessageId"]


def test_an_answer_says_that_it_is_simulated_and_repeats_what_it_was_told(tools: dict[str, Tool]) -> None:
    answer = run(tools["sqs__create_queue"], QueueName="orders")
    described = run(tools["dynamodb__describe_table"], TableName="orders")
    assert (answer["simulated"], answer["operation"]) == (True, "sqs.CreateQueue")
    assert described["output"]["Table"]["TableName"] == "orders"
    assert described["output"]["Table"]["TableArn"] == "arn:aws:dynamodb:us-east-1:123456789012:table/orders"


@pytest.mark.parametrize("service", FEW)
def test_every_answer_fits_the_output_its_operation_declares_and_is_json(service: str, tools: dict[str, Tool]) -> None:
    operations = model(service)
    for tool in tools.values():
        if tool.server == service:
            answer = run(tool, **smallest(tool.parameters, tool.parameters))
            assert json.loads(json.dumps(answer)) == answer
            shape = operations.operation_model(tool.name).output_shape
            jsonschema.validate(answer["output"], arguments_schema(shape) if shape else {"const": {}})


def test_an_executor_called_past_the_gate_refuses_arguments_that_botocore_would_refuse(tools: dict[str, Tool]) -> None:
    with pytest.raises(ParamValidationError, match='Missing required parameter in input: "Message"'):
        run(tools["sns__publish"], Topic="finance")


def test_an_operation_without_input_answers_and_refuses_arguments() -> None:
    summary = one("iam__get_account_summary")
    assert summary.parameters == arguments_schema(None)
    assert run(summary)["operation"] == "iam.GetAccountSummary"
    with pytest.raises(ParamValidationError, match="takes no parameters"):
        run(summary, UserName="ada")


@pytest.mark.parametrize(
    "name",
    [
        "rekognition__detect_faces",  # numbers with fractions
        "rekognition__detect_moderation_labels",  # a member that is JSON itself
        "kms__generate_data_key",  # bytes
        "ecs__describe_services",  # a document, tagged unions, structures inside each other
        "cloudwatch__get_metric_statistics",  # times
    ],
)
def test_every_kind_of_shape_has_a_schema_and_an_answer_that_fits_it(name: str) -> None:
    tool = one(name)
    answer = run(tool, **smallest(tool.parameters, tool.parameters))
    operation = model(str(tool.server)).operation_model(tool.name)
    jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))
    jsonschema.validate(answer["output"], arguments_schema(operation.output_shape))
    assert json.loads(json.dumps(answer)) == answer


def one(tool_id: str) -> Tool:
    return next(tool for tool in cloud_tools([tool_id.partition("__")[0]]) if tool.id == tool_id)


def test_without_botocore_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.loaders", None)
    with pytest.raises(MissingPackageError, match=r"need botocore\. Run: pip install 'toolsearch\[demo\]'"):
        cloud_tools()


def test_a_service_that_does_not_exist_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"botocore has no service 'dynamo'.*Did you mean 'dynamodb'"):
        cloud_tools(["dynamo"])


@pytest.mark.parametrize(
    ("html", "plain"),
    [
        ("", ""),
        ("<p/>", ""),
        ("<p>Sends a <code>message</code> &amp; waits.</p>", "Sends a message & waits."),
        ("<note><p>Old.</p></note><p>Creates a bucket.</p>", "Creates a bucket."),
        ("<note> <p>Only a note.</p> </note>", "Only a note."),
        ("<p>One.</p><ul><li>Two.</li></ul> <p>A third one that is far too long to fit.</p>", "One. Two."),
        ("<p>One sentence that alone is longer than the limit.</p>", "One sentence that alone is..."),
        ("</note><p>Unbalanced.</p>", "Unbalanced."),
    ],
)
def test_documentation_becomes_its_first_whole_sentences(html: str, plain: str) -> None:
    assert first_sentences(html, 30) == plain


def test_a_long_page_is_cut_between_two_tags() -> None:
    page = "<p>First sentence.</p>" + "<p>More <b>words</b> without an end </p>" * 50
    assert first_sentences(page, 20) == "First sentence."
