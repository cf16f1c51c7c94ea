"""What a model gives a query and a tool that have nothing to do with each other, measured where nobody has before."""

from dataclasses import dataclass

import numpy as np

from toolsearch.embedding.encoder import Encoder


@dataclass(frozen=True, slots=True)
class Background:
    """What cosine a query and a tool get that have nothing to do with each other."""

    mean: float
    deviation: float


_PAIRS = (
    ("what's the weather tomorrow in Paris", "get forecast: Temperature and rain for the coming days at a place."),
    ("open a ticket for this bug", "create issue: Files a defect or a task in a project's tracker."),
    ("tell Anna that I am late", "send message: Posts a text to a person or a channel."),
    ("how many euros are 100 dollars", "convert currency: Exchanges an amount of money at today's rate."),
    ("make this photo smaller", "resize image: Changes width and height of a picture."),
    ("which flights go to Rome on Friday", "search flights: Connections between two airports with prices."),
    ("play something by Miles Davis", "play track: Starts a song on the selected speaker."),
    ("restart the web server", "reboot instance: Stops and starts a virtual machine."),
    ("summarise this contract", "extract text: Reads the pages of a document."),
    ("who won the match yesterday", "get scores: Results of a league's games by date."),
    ("book a table for four", "reserve restaurant: Finds free seats and reserves them."),
    ("add a column to the customers table", "run query: Executes SQL against a database."),
    ("how do I make lasagne", "find recipe: Dishes by ingredient and time."),
    ("is my heart rate normal", "read vitals: Measurements of a wearable device."),
    ("translate this sentence into Korean", "translate: Renders a text in another language."),
    ("sell my shares of that company", "place order: Buys or sells securities on an exchange."),
)
"""Queries, each with a tool that fits it: every other tool does not."""


def measure(encoder: Encoder) -> Background:
    """Mean and deviation of the cosines of all queries above with the tools of the others."""
    queries = encoder.encode([query for query, _ in _PAIRS], "query")
    tools = encoder.encode([tool for _, tool in _PAIRS], "document")
    cosines = (queries @ tools.T)[~np.eye(len(_PAIRS), dtype=bool)]
    # An encoder that gives all texts one vector has no deviation; nothing it says is evidence.
    return Background(float(cosines.mean()), max(float(cosines.std()), 1e-3))
