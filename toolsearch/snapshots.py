"""A snapshot: what a definition held when it was read, made so that an unchanged one is recognised fast.

It copies the containers and shares the texts, so that comparing an unchanged definition compares mostly addresses.
"""

from typing import Any

_SHARED = (str, type(None))


class Snapshot:
    """Equal to a definition for as long as nothing in it has been changed, not even `1` to `True`."""

    __slots__ = ("_held",)

    def __init__(self, definition: dict[str, Any]) -> None:
        """Raises:
        ValueError: the definition holds something beyond plain JSON, or is nested too deeply.
        """
        try:
            self._held = _held(definition)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def matches(self, definition: dict[str, Any]) -> bool:
        return bool(definition == self._held)


class _Number:
    """Equal to a number of the same type only: to Python, `True`, `1` and `1.0` are equal; to a schema they are not."""

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return other is self._value or (type(other) is type(self._value) and other == self._value)


def _held(value: Any) -> Any:
    kind = type(value)
    if kind in _SHARED:
        return value
    if kind is dict:
        return {key: _held(inner) for key, inner in value.items()}
    if kind is list:
        return [_held(inner) for inner in value]
    if kind in (int, bool, float):
        return _Number(value)
    raise ValueError(f"{kind.__name__} is no JSON")
