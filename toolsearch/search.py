"""Tool search: a catalog, the model that reads it, and the tools that answer a query."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from toolsearch.cache import CachedEncoder
from toolsearch.catalog import Catalog, as_tools
from toolsearch.corpus import Corpus, Row, Segment, Selection
from toolsearch.document import render
from toolsearch.embedding.encoder import Encoder, Vectors
from toolsearch.embedding.registry import background, load_encoder
from toolsearch.errors import OptionError
from toolsearch.lexical import Terms, analyse
from toolsearch.lru import LRU
from toolsearch.match import Explanation, Match
from toolsearch.names import exactly, selected_names
from toolsearch.naming import warn_of_silent
from toolsearch.ranking import Picker
from toolsearch.tool import Tool
from toolsearch.view import View, refusal

Where: TypeAlias = Callable[[Tool], bool]
"""Which tools a search may return; applied to the rows before top-k."""

_ROWS = 20_000
"""Rows of request tools that are remembered, about 2.5 KB each."""
_SEGMENTS = 32
"""Assembled sets of request tools that are remembered."""


class ToolSearch:
    """Finds tools by meaning. Immutable and safe to share between threads; embeds its tools at construction.

    `tools` is anything `as_tools` reads: tools, callables, definitions, in a mapping or an iterable. Ids must be unique;
    names may repeat. `model` is a name of the registry, a folder, or an encoder. Vectors are remembered on disk under
    `cache_dir` (default: the user's cache folder, or TOOLSEARCH_CACHE_DIR), so a known tool is never embedded again.

    Raises:
        InvalidToolError: a tool cannot be read; names the tool and the field.
        DuplicateToolError: two tools have one id.
        ModelNotFoundError: nothing answers to the model's name.
        ModelFilesError: the model's files are missing or altered.
        VectorError: the encoder returned something else than unit rows of its width.
    """

    def __init__(
        self,
        tools: Mapping[str, object] | Iterable[object],
        *,
        model: str | Encoder = "minilm",
        cache_dir: Path | str | None = None,
    ) -> None:
        self.catalog = Catalog(as_tools(tools))
        encoder = load_encoder(model)
        self.encoder = (
            encoder
            if isinstance(encoder, CachedEncoder)
            else CachedEncoder(encoder, folder=None if cache_dir is None else Path(cache_dir))
        )
        self._owns_cache = self.encoder is not encoder
        self._background = background(self.encoder)
        self._rows: LRU[str, Row] = LRU(_ROWS)
        self._segments: LRU[str, Segment] = LRU(_SEGMENTS)
        warn_of_silent(self.catalog)
        self._segment = self._assemble(list(self.catalog))
        self._view = View(list(self.catalog), Corpus([self._segment]), self._background)

    def search(
        self,
        query: str,
        k: int = 5,
        *,
        where: Where | None = None,
        min_score: float | None = None,
        max_per_server: int | None = None,
    ) -> list[Match]:
        """The k best tools, best first; fewer only where fewer are allowed (or score `min_score`).

        A query that is a tool's name in any case or with any separators gives that tool first; `select:a,b` gives
        exactly those tools, k of them or more. An empty query, or one of punctuation only, gives nothing.
        `where` restricts the rows before top-k. With `max_per_server`, a server's further matches come
        only where places remain.

        Raises:
            TypeError: the query is not a string.
            OptionError: k is negative, max_per_server is less than 1, min_score is not in 0..1.
            ModelError: the model cannot be loaded, or returned something else than unit rows of its width.
        """
        return self.search_many([query], k, where=where, min_score=min_score, max_per_server=max_per_server)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        where: Where | None = None,
        min_score: float | None = None,
        max_per_server: int | None = None,
    ) -> list[list[Match]]:
        """A ranking a query, as `search` gives it; the queries are encoded in one batch.

        Raises:
            TypeError: a query is not a string, or the queries are a single one.
            OptionError: k is negative, max_per_server is less than 1, min_score is not in 0..1.
            ModelError: the model cannot be loaded, or returned something else than unit rows of its width.
        """
        if k < 0:
            raise OptionError("k", f"must be 0 or more, not {k}.")
        if min_score is not None and not 0 <= min_score <= 1:
            raise OptionError("min_score", f"must be a number in 0..1, not {min_score!r}.")
        if max_per_server is not None and max_per_server < 1:
            raise OptionError("max_per_server", f"must be 1 or more, not {max_per_server}.")
        if isinstance(queries, str):
            raise TypeError("search_many takes a list of queries; search takes one.")
        selection = None if where is None else self._select(where)
        rankings: list[list[Match]] = []
        for query, vector in zip(queries, self.encode(queries), strict=True):
            # A `select:` gives all it names, however few are asked for.
            most = k if selected_names(query) is None else len(self.catalog)
            picker = Picker(most, floor=min_score, max_per_server=max_per_server)
            if k > 0:
                for match in picker.proposals(self._matches(query, vector, selection)):
                    picker.keep(match)
            rankings.append(picker.picked())
        return rankings

    def explain(self, query: str, name: str) -> Explanation:
        """Why the tool of this id ranks where it does among all tools.

        Raises:
            UnknownToolError: no tool has this id.
            OptionError: the query cannot be searched for (empty, or too long).
            TypeError: the query is not a string.
            ModelError: as `search`.
        """
        tool = self.catalog[name]
        reason = refusal(query)
        if reason is not None:
            raise OptionError("query", reason)
        (vector,) = self.encode([query])
        match = next((m for m in self._matches(query, vector) if m.tool is tool), None)
        if match is None:
            raise OptionError("query", f"a select: query that does not name {name!r} does not rank it.")
        document = render(tool, count=self.encoder.count_tokens, limit=self.encoder.max_tokens).words
        inside = {*analyse(document), *analyse(tool.name)}
        shared = tuple(dict.fromkeys(term for term in analyse(query) if term in inside))
        usual = self._view.corpus.usual(vector)
        return Explanation(query, match, of=len(self.catalog), document=document, usual=usual, shared_terms=shared)

    def encode(self, queries: Sequence[str]) -> Vectors:
        """The queries' vectors, shape (n, dim); a query that cannot be searched for has a row of zeros.

        Raises:
            TypeError: a query is not a string.
            ModelError: as `search`.
        """
        sound = [place for place, query in enumerate(queries) if refusal(query) is None]
        vectors = np.zeros((len(queries), self.encoder.dim), np.float32)
        if sound:
            vectors[sound] = self.encoder.encode([queries[place] for place in sound], "query")
        return vectors

    def view(self, tools: Sequence[Tool] = (), *, replaced: Collection[str] = ()) -> View:
        """The catalog, less the ids `replaced`, together with tools that exist for one request only.

        Rows are remembered by content: tools seen before are not embedded again, a set seen before is not assembled
        again. The tools themselves stay in the view and are shared with nobody.
        """
        if not tools and not replaced:
            return self._view
        segments = [self._segment]
        if tools:
            key = "\0".join(tool.fingerprint for tool in tools)
            segment = self._segments.get(key)
            if segment is None:
                segment = self._assemble(tools)
                self._segments.put(key, segment)
            segments.append(segment)
        live = np.ones(len(self.catalog) + len(tools), bool)
        live[[self.catalog.position(name) for name in replaced]] = False
        return View([*self.catalog, *tools], Corpus(segments, live), self._background)

    def close(self) -> None:
        """Release the vector cache, unless the caller gave it; searching goes on without it. May be called again."""
        if self._owns_cache:
            self.encoder.close()

    def _select(self, where: Where) -> Selection:
        return np.fromiter((where(tool) for tool in self.catalog), bool, len(self.catalog))

    def _matches(self, query: str, vector: Vectors, selection: Selection | None = None) -> Iterable[Match]:
        ranking = self._view.ranking(query, vector, selection)
        chosen = selected_names(query)
        if chosen is None:
            return ranking
        # Of the tools that answer to a name in a `select:` the very one is enough.
        found = list(ranking)
        meant = exactly(chosen, [match.tool for match in found])
        return [replace(found[place], rank=rank) for rank, place in enumerate(meant, 1)]

    def _assemble(self, tools: Sequence[Tool]) -> Segment:
        rows: dict[str, Row] = {}
        unseen: dict[str, Tool] = {}
        for tool in tools:
            row = self._rows.get(tool.fingerprint)
            if row is None:
                unseen[tool.fingerprint] = tool
            else:
                rows[tool.fingerprint] = row
        if unseen:
            documents = [
                render(tool, count=self.encoder.count_tokens, limit=self.encoder.max_tokens) for tool in unseen.values()
            ]
            vectors = self.encoder.encode([document.text for document in documents], "document")
            for (fingerprint, tool), document, vector in zip(unseen.items(), documents, vectors, strict=True):
                row = Row(vector, Terms.of(document.words, name=tool.name))
                rows[fingerprint] = row
                self._rows.put(fingerprint, row)
        return Segment([rows[tool.fingerprint] for tool in tools], self.encoder.dim)
