"""A memory by function: what was once read from a function, for as long as the function or its code lives."""

import sys
from collections.abc import Hashable
from enum import Enum
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")

_ALIKE = 8
"""Readings kept per code: functions of one code differ where their defaults or hints do."""
_SIMPLE = (bool, int, float, str, Enum, type(None))


class FunctionMemory(Generic[V]):
    """Values by function and variant; a value must not hold the function. Safe to share between threads.

    A function that a request makes anew (`def get_mail(): ...` inside another function) is known again by its code,
    as long as nothing that a reader could see of it has changed.
    """

    def __init__(self) -> None:
        self._by_function: WeakKeyDictionary[Any, dict[Hashable, V]] = WeakKeyDictionary()
        self._by_code: WeakKeyDictionary[CodeType, list[tuple[Any, V]]] = WeakKeyDictionary()
        self._lock = Lock()

    def get(self, function: Any, variant: Hashable) -> V | None:
        try:
            with self._lock:
                known = self._by_function.get(function)
        except TypeError:  # cannot be hashed or referenced weakly
            return None
        if known is not None and variant in known:
            return known[variant]
        visible = _visible(function)
        if visible is None:
            return None
        with self._lock:
            alike = self._by_code.get(function.__code__, ())
            value = next((value for seen, value in alike if seen == (variant, visible)), None)
            if value is not None:
                self._by_function.setdefault(function, {})[variant] = value
        return value

    def put(self, function: Any, variant: Hashable, value: V) -> None:
        visible = _visible(function)
        try:
            with self._lock:
                self._by_function.setdefault(function, {})[variant] = value
                if visible is not None:
                    alike = self._by_code.setdefault(function.__code__, [])
                    alike.append(((variant, visible), value))
                    del alike[:-_ALIKE]
        except TypeError:
            return  # read again each time


def _visible(function: Any) -> tuple[Any, ...] | None:
    """All that a description can depend on; None where the code does not tell, or a default is more than a plain value."""
    if type(function) is not FunctionType or {"__wrapped__", "__signature__"} & function.__dict__.keys():
        return None
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if not all(isinstance(default, _SIMPLE) for default in defaults):
        return None
    try:
        annotations = function.__annotations__
    except Exception:  # noqa: BLE001 - from Python 3.14 on, reading the annotations evaluates them
        return None
    # A hint in text means what the module's names mean; of other namespaces nobody knows when they end.
    module = sys.modules.get(function.__module__)
    if (
        any(isinstance(hint, str) for hint in annotations.values())
        and vars(module or object) is not function.__globals__
    ):
        return None
    typed = [(type(default), default) for default in defaults]  # 1 and True are equal, and described differently
    names = (function.__module__, function.__qualname__, function.__doc__, tuple(function.__kwdefaults__ or ()))
    return (*names, typed, annotations)
