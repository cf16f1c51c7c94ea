"""A match: one tool, and how well it answers one query."""

from dataclasses import dataclass
from typing import Literal

from toolsearch.tool import Tool

Reason = Literal["exact-name", "select", "ranked"]
"""Why a tool is in a ranking: its name was typed, it was selected by name, or the evidence ranked it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The parts of a score, for `explain`."""

    cosine: float
    """Raw cosine of query and document, -1..1."""
    dense: float
    """Cosine in standard deviations above what the model gives unrelated pairs."""
    bm25: float
    """Raw BM25 of the query's terms in the document, from 0."""
    lexical: float
    """BM25 weighted against the dense part."""
    fused: float
    """The sum of dense and lexical part, which ranks."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class Match:
    """One tool and how well it answers the query."""

    tool: Tool
    score: float
    """Calibrated relevance in 0..1; never increases down a ranking; higher is better, everywhere in this package."""
    rank: int
    """1-based; ties fall in tool-name order."""
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one tool ranks where it does for one query."""

    query: str
    match: Match
    """The tool's place among all tools, whatever `k` would have been."""
    of: int
    """How many tools were ranked."""
    document: str
    """The words that stand for the tool in the index."""
    usual: tuple[float, float]
    """Mean and standard deviation of the cosines this query gets over the catalog."""
    shared_terms: tuple[str, ...]
    """Terms of the query that the document or the name as a whole contains, in query order."""
