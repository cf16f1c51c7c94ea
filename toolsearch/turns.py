"""Turns: which messages of a conversation must stay together when some are dropped."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolsearch.errors import MessageError
from toolsearch.messages import Call, Reading, Result, read_message

Group = tuple[int, ...]
"""Places of messages that are kept or dropped as one; never empty, in order."""


@dataclass(frozen=True, slots=True)
class Turns:
    """A conversation cut only where a provider still accepts what follows."""

    system: Group
    """Places of the system messages, wherever they stand; they belong to no group."""
    groups: tuple[Group, ...]
    """All other places, in order."""
    last: int
    """The group at which the last turn starts: that of the last user message; the last group where there is none."""


def turns_of(messages: Sequence[object]) -> Turns:
    """Group the messages: a call and its results, with all that stands between them, are one group.

    So are the calls of one assistant turn, and, among Responses items, what the assistant gave in a row (reasoning
    must not be parted from what it led to). A result without a call before it stays with the message before it.

    Raises:
        MessageError: a message has no known shape, so that nobody can say what it belongs to.
    """
    readings = [read_message(message) for message in messages]
    for place, reading in enumerate(readings):
        if reading.role == "unknown":
            raise MessageError(
                f"Message {place} ({type(messages[place]).__name__}) has none of the known shapes (neutral, OpenAI chat, "
                "OpenAI Responses, Anthropic), so nothing tells which messages it belongs to. Convert it first."
            )
    spoken = [place for place, reading in enumerate(readings) if reading.role != "system"]
    bounds = _bounds([readings[place] for place in spoken])
    groups = tuple(tuple(spoken[start:end]) for start, end in bounds)
    users = [at for at, place in enumerate(spoken) if _is_user_turn(readings[place])]
    last = next((at for at, (_, end) in enumerate(bounds) if users and users[-1] < end), max(len(bounds) - 1, 0))
    return Turns(tuple(place for place, reading in enumerate(readings) if reading.role == "system"), groups, last)


def _bounds(readings: Sequence[Reading]) -> list[tuple[int, int]]:
    """Start and end (exclusive) of each group."""
    reach = _reach(readings)
    bounds: list[tuple[int, int]] = []
    start = end = 0
    for place, furthest in enumerate(reach):
        end = max(end, furthest)
        if place == end:
            bounds.append((start, end + 1))
            start = end = place + 1
    return bounds


def _reach(readings: Sequence[Reading]) -> list[int]:
    """For each message the furthest one that must not be parted from it."""
    reach = list(range(len(readings)))
    called: dict[str, int] = {}  # where the newest call of an id stands; ids may serve again
    for place, reading in enumerate(readings):
        before = max(place - 1, 0)
        for part in reading.parts:
            if isinstance(part, Call) and part.id is not None:
                called[part.id] = place
            elif isinstance(part, Result):
                reach[before if part.id is None else called.get(part.id, before)] = place
        answers_no_call = reading.role == "tool" and not any(isinstance(part, Result) for part in reading.parts)
        previous = readings[before]
        same_turn = reading.role == previous.role == "assistant" and (reading.is_item or previous.is_item)
        if answers_no_call or same_turn:
            reach[before] = place
    return reach


def _is_user_turn(reading: Reading) -> bool:
    """Whether a user speaks here; Anthropic's results of tools come as user messages too."""
    parts = reading.parts
    return reading.role == "user" and (not parts or any(not isinstance(part, Result) for part in parts))
