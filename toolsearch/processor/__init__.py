"""One agent step: two meta-tools in, the tools the model asked for out, under the caller's policy."""

from toolsearch.processor.gate import CallResult
from toolsearch.processor.options import SearchOptions
from toolsearch.processor.processor import ToolSearchProcessor
from toolsearch.processor.step import StepResult

__all__ = ["CallResult", "SearchOptions", "StepResult", "ToolSearchProcessor"]
