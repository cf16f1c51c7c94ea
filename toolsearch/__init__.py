"""Semantic tool search for LLM agents: two meta-tools instead of ten thousand definitions."""

from toolsearch.catalog import Catalog, as_tool, as_tools
from toolsearch.embedding.encoder import Encoder
from toolsearch.limiter import ProcessorChain, TokenLimiter
from toolsearch.match import Evidence, Explanation, Match
from toolsearch.naming import legal_names
from toolsearch.processor import CallResult, SearchOptions, StepResult, ToolSearchProcessor
from toolsearch.search import ToolSearch
from toolsearch.sources import read_tools
from toolsearch.state import InMemoryStore, LoadedToolStore, ThreadKey
from toolsearch.tool import Tool

__version__ = "0.1.0"

__all__ = [
    "CallResult",
    "Catalog",
    "Encoder",
    "Evidence",
    "Explanation",
    "InMemoryStore",
    "LoadedToolStore",
    "Match",
    "ProcessorChain",
    "SearchOptions",
    "StepResult",
    "ThreadKey",
    "TokenLimiter",
    "Tool",
    "ToolSearch",
    "ToolSearchProcessor",
    "as_tool",
    "as_tools",
    "legal_names",
    "read_tools",
]
