"""Semantic tool search for LLM agents."""

__version__ = "0.1.0"
