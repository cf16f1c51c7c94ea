"""A docstring: what a function says about itself and its parameters, in Google, NumPy or Sphinx style."""

from collections.abc import Mapping
from dataclasses import dataclass

import docstring_parser


@dataclass(frozen=True, slots=True)
class Docstring:
    """What a docstring tells a model."""

    description: str
    """Summary and long description, a blank line between; empty where there is none."""
    parameters: Mapping[str, str]
    """Descriptions by parameter name; those without one are absent."""


def read_docstring(text: str | None) -> Docstring:
    """The style is recognised; what follows none of them is description as it stands."""
    if not text or not text.strip():
        return Docstring("", {})
    parsed = docstring_parser.parse(text)  # takes any text: what one style refuses another reads
    parts = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
    parameters = {
        # NumPy lists several parameters of one description as `a, b`; stars mark *args and **kwargs.
        name.strip().lstrip("*"): parameter.description.strip()
        for parameter in parsed.params
        if parameter.description
        for name in parameter.arg_name.split(",")
    }
    return Docstring("\n\n".join(parts), parameters)
