"""Answers: what an operation could have returned, made from its output shape and the arguments, without a network."""

import base64
import hashlib
import json
import random
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botocore.model import OperationModel, Shape

_DEPTH = 3
"""Optional members lie no deeper than this: it shows the shape of an answer and ends recursive ones."""
_ACCOUNT = "123456789012"
_REGION = "us-east-1"
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_ABSENT = re.compile(
    r"token$|marker$|^fail|failure|error|unprocessed|rejected|invalid|exception|warning", re.IGNORECASE
)
"""Optional members an answer leaves out: pages end here, and nothing failed."""
_URL = re.compile(r"(url|uri|endpoint|location)$", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.-]{1,62}")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedOperation:
    """One operation that answers by itself: equal arguments give equal answers."""

    operation: "OperationModel"

    def __call__(self, /, **arguments: Any) -> dict[str, Any]:
        """The answer under `output`, marked as simulated.

        Raises:
            botocore.exceptions.ParamValidationError: the arguments do not fit the operation's own input shape.
        """
        service, name = self.operation.service_model.service_name, self.operation.name
        seed = hashlib.sha256(json.dumps([service, name, arguments], sort_keys=True, default=str).encode()).digest()
        draw = random.Random(seed)  # noqa: S311 (an example, not a secret)
        self._check({**{token: _uuid(draw) for token in self.operation.idempotent_members}, **arguments})
        answer = _Answer(service, dict(_leaves(arguments)), draw)
        output = self.operation.output_shape
        return {
            "simulated": True,
            "operation": f"{service}.{name}",
            "output": {} if output is None else answer.value("output", output, 0),
        }

    def _check(self, arguments: Mapping[str, Any]) -> None:
        from botocore.exceptions import ParamValidationError  # noqa: PLC0415
        from botocore.validate import ParamValidator  # noqa: PLC0415

        shape = self.operation.input_shape
        if shape is None:
            if arguments:
                raise ParamValidationError(report=f"{self.operation.name} takes no parameters")
            return
        errors = ParamValidator().validate(arguments, shape)
        if errors.has_errors():
            raise ParamValidationError(report=errors.generate_report())


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Every named plain value in the arguments, deepest first, so that in a dict the outer ones win."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
        for name, inner in value.items():
            if isinstance(inner, str | int | float):
                yield str(name).lower(), inner
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)


class _Answer:
    """One answer being made."""

    def __init__(self, service: str, given: dict[str, Any], draw: random.Random) -> None:
        self.service = service
        self.given = given
        self.draw = draw

    def value(self, name: str, shape: Any, depth: int) -> Any:
        if getattr(shape, "is_document_type", False):
            return {}
        if shape.type_name == "structure":
            return self.structure(shape, depth)
        if shape.type_name == "list":
            least = shape.metadata.get("min", 0)
            times = max(least, 1 if depth < _DEPTH else 0)
            return [self.value(name.removesuffix("s"), shape.member, depth + 1) for _ in range(times)]
        if shape.type_name == "map":
            least = max(shape.metadata.get("min", 0), 1 if depth < _DEPTH else 0)
            keys = [self.value("key", shape.key, depth + 1) for _ in range(least)]
            return {key: self.value("value", shape.value, depth + 1) for key in keys}
        return self.plain(name, shape)

    def structure(self, shape: Any, depth: int) -> dict[str, Any]:
        required = set(shape.required_members)
        names = [
            name
            for name, member in shape.members.items()
            if name in required or (not _ABSENT.search(name) and (depth < _DEPTH or not _nested(member)))
        ]
        if getattr(shape, "is_tagged_union", False):
            names = names[:1] or list(shape.members)[:1]
        return {name: self.value(name, shape.members[name], depth + 1) for name in names}

    def plain(self, name: str, shape: Any) -> Any:
        match shape.type_name:
            case "string" | "character":
                return self.string(name, shape)
            case "boolean":
                return bool(self.echo(name, bool, self.draw.random() < 0.5))
            case "integer" | "long":
                low, high = _range(shape)
                return self.echo(name, int, 1 if name.lower() == "version" else self.draw.randint(low, high))
            case "float" | "double":
                low, high = _range(shape)
                return round(self.draw.uniform(low, high), 3)
            case "timestamp":
                return (_EPOCH + timedelta(seconds=self.draw.randrange(300 * 86_400))).isoformat()
            case _:  # a blob, which JSON carries as base64
                return base64.b64encode(f"simulated {self.hex(8)}".encode()).decode()

    def echo(self, name: str, kind: type, otherwise: Any) -> Any:
        """What the arguments called by this name, where it is of this kind."""
        given = self.given.get(name.lower())
        return given if type(given) is kind else otherwise

    def string(self, name: str, shape: Any) -> str:
        if options := getattr(shape, "enum", ()):
            given = self.echo(name, str, options[0])
            return str(given if given in options else options[0])
        text = str(self.echo(name, str, "")) or self.invented(name)
        low, high = shape.metadata.get("min", 0), shape.metadata.get("max")
        return text.ljust(low, "0")[:high]

    def invented(self, name: str) -> str:
        lower = name.lower()
        if lower.endswith("arn"):
            stem = "-".join(_WORD.findall(name[:-3])).lower() or "resource"
            return f"arn:aws:{self.service}:{_REGION}:{_ACCOUNT}:{stem}/{self.subject(stem)}"
        if lower.endswith("id"):
            return _uuid(self.draw)
        if _URL.search(name):
            return f"https://{self.service}.{_REGION}.simulated.example/{self.subject(lower)}"
        return f"{'-'.join(_WORD.findall(name)).lower() or 'value'}-{self.hex(4)}"

    def subject(self, stem: str) -> str:
        """The name of the thing the call is about, where the arguments say it."""
        for key in (stem, f"{stem}name", "name", *reversed(self.given)):
            if isinstance(given := self.given.get(key), str) and _PLAIN_NAME.fullmatch(given):
                return given
        return self.hex(8)

    def hex(self, digits: int) -> str:
        return f"{self.draw.getrandbits(4 * digits):0{digits}x}"


def _nested(shape: "Shape") -> bool:
    return shape.type_name in {"structure", "list", "map"}


def _range(shape: Any) -> tuple[int, int]:
    low = int(shape.metadata.get("min", 1))
    return low, max(low, min(int(shape.metadata.get("max", low + 99)), low + 99))


def _uuid(draw: random.Random) -> str:
    return str(uuid.UUID(int=draw.getrandbits(128), version=4))
