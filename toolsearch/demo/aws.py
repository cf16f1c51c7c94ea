"""Cloud operations as tools: read from the API models inside botocore, answered without a network."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from toolsearch.callable_names import legal_name
from toolsearch.demo.answers import SimulatedOperation
from toolsearch.demo.prose import first_sentences
from toolsearch.demo.schema import arguments_schema
from toolsearch.errors import MissingPackageError, OptionError
from toolsearch.identifiers import words
from toolsearch.tool import Tool, make_tool

if TYPE_CHECKING:
    from botocore.loaders import Loader
    from botocore.model import OperationModel

SERVICES = (
    *("s3", "lambda", "dynamodb", "sqs", "sns", "sesv2", "iam", "sts", "rds", "ecs", "eks", "ecr", "route53"),
    *("cloudwatch", "logs", "events", "scheduler", "stepfunctions", "kms", "secretsmanager", "ssm", "athena"),
    *("translate", "polly", "rekognition", "textract", "transcribe", "budgets"),
)
"""Well-known ones with about 1,900 operations: many enough to drown a prompt, few enough to embed within a minute or two."""

_DESCRIPTION = 300
"""Characters kept of an operation's documentation, in whole sentences."""


def cloud_tools(services: Sequence[str] = SERVICES) -> list[Tool]:
    """Every operation of these services that takes one JSON object, service by service, each in botocore's order.

    A tool's id is `service__operation_name`, its name the one the API uses (`CreateBucket`), its server the service.
    One without documentation is described by the words of its name. Its executor checks the arguments against the operation's own input shape and answers with `{"simulated": True, ...}`.

    Raises:
        MissingPackageError: botocore is not installed.
        OptionError: botocore has no service of this name.
    """
    loader = _loader()
    return [_tool(operation) for service in services for operation in _operations(loader, service)]


def _loader() -> "Loader":
    try:
        from botocore.loaders import Loader  # noqa: PLC0415
    except ImportError as error:
        raise MissingPackageError("botocore", needed_for="The demo's tools", extra="demo") from error
    return Loader()


def _operations(loader: "Loader", service: str) -> Iterator["OperationModel"]:
    from botocore.exceptions import UnknownServiceError  # noqa: PLC0415
    from botocore.model import ServiceModel  # noqa: PLC0415

    try:
        description = loader.load_service_model(service, "service-2")
    except UnknownServiceError as error:
        known = loader.list_available_services("service-2")
        nearest = next(iter(get_close_matches(service, known, n=1)), None)
        raise OptionError("services", f"botocore has no service {service!r}.", nearest) from error
    model = ServiceModel(description, service)
    for name in model.operation_names:
        operation = model.operation_model(name)
        # A stream of events going in is no object a model could write.
        if not operation.has_event_stream_input:
            yield operation


def _tool(operation: "OperationModel") -> Tool:
    from botocore import xform_name  # noqa: PLC0415

    service = operation.service_model.service_name
    return make_tool(
        id=legal_name(f"{service}__{xform_name(operation.name)}"),
        name=operation.name,
        server=service,
        description=first_sentences(operation.documentation, _DESCRIPTION) or words(operation.name),
        parameters=arguments_schema(operation.input_shape, filled_in=operation.idempotent_members),
        executor=SimulatedOperation(operation),
    )
