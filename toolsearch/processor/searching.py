"""`search_tools` at work: the ranking is walked until enough is allowed, and the answer says what to do next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from toolsearch.cleaning import clean, shorten
from toolsearch.match import Match
from toolsearch.names import Names, exactly, selected_names
from toolsearch.processor import texts
from toolsearch.processor.answer import fit
from toolsearch.processor.context import StepContext
from toolsearch.processor.metatools import SearchArguments
from toolsearch.ranking import Picker
from toolsearch.tool import Tool
from toolsearch.transcript import RECEIPT_TYPE, RECEIPT_VERSION
from toolsearch.view import refusal
from toolsearch.waiting import Waiting

_EVERY = 1_000_000
"""More matches than a catalog has."""


@dataclass(frozen=True, slots=True)
class Found:
    """One result before it is written out."""

    tool: Tool
    score: float
    query: str


async def run_search(step: StepContext, arguments: Mapping[str, Any], waiting: Waiting) -> dict[str, Any]:
    """The answer of `search_tools`; wrong arguments are an answer too."""
    queries, problem = _queries(arguments)
    if problem is not None:
        return {"results": [], "message": problem}
    asked = queries[: step.options.max_queries]
    reasons = {query: refusal(query) for query in asked}
    sound = [query for query in asked if reasons[query] is None]
    if not sound:
        reason = next(reason for reason in reasons.values() if reason is not None)
        fruitless = step.history.record((), ()).fruitless >= step.options.max_fruitless
        return {"results": [], "message": f"{reason} {texts.STOP}" if fruitless else reason}
    found = _merged(
        [await _walk(step, query, vector, waiting) for query, vector in await _encoded(step, sound, waiting)]
    )
    # Under auto-load every match is activated, so several queries together bring no more than one would.
    most = step.options.top_k if step.options.auto_load else len(found)

    def build(count: int, length: int) -> dict[str, Any]:
        results = [_result(step, one, length, several=len(queries) > 1) for one in found[:count]]
        names = [one.tool.id for one in found[:count]]
        said = _message(step, names, sound, more=len(found) - count, skipped=len(queries) - len(asked))
        answer: dict[str, Any] = {"results": results, "message": said}
        if step.options.auto_load:
            answer["activation"] = {"type": RECEIPT_TYPE, "version": RECEIPT_VERSION, "loaded": names}
        return answer

    answer = fit(build, min(most, len(found)), step.options.max_tokens, step.counter)
    given = [result["name"] for result in answer["results"]]
    step.history.record(sound, given)
    if step.options.auto_load:
        await _activate(step, given, waiting)
    return answer


def _queries(arguments: Mapping[str, Any]) -> tuple[list[str], str | None]:
    try:
        given = SearchArguments.model_validate(dict(arguments))
    except ValidationError:
        return [], texts.SEARCH_USAGE
    if (given.query is None) == (given.queries is None):
        return [], texts.SEARCH_USAGE
    queries = [given.query] if given.query is not None else list(dict.fromkeys(given.queries or ()))
    return (queries, None) if queries else ([], texts.SEARCH_USAGE)


async def _encoded(step: StepContext, queries: list[str], waiting: Waiting) -> list[tuple[str, Any]]:
    vectors = await waiting.offload(lambda: step.search.encode(queries))
    return list(zip(queries, vectors, strict=True))


async def _walk(step: StepContext, query: str, vector: Any, waiting: Waiting) -> list[Found]:
    """The allowed matches of one query: names of the prompt's own tools, then the ranking until `top_k` are together."""
    options = step.options
    if options.top_k == 0:
        return []
    chosen = selected_names(query)
    spelled = [query] if chosen is None else chosen
    own = _own(step, spelled, query)
    # A `select:` gives all it names; only activation is limited.
    k = options.top_k - len(own) if chosen is None else _EVERY
    picker = Picker(k, floor=options.min_score or None, max_per_server=options.server_cap)
    view = await waiting.offload(lambda: step.catalog.view)
    for match in picker.proposals(view.ranking(query, vector)):
        if await _may_show(step, match, waiting):
            picker.keep(match)
    found = [*own, *(Found(match.tool, match.score, query) for match in picker.picked())]
    if chosen is None:
        return found[: options.top_k]
    # Of the tools that answer to a name the very one is enough. Only what may be shown counts, lest a gap tell.
    return [found[place] for place in exactly(chosen, [one.tool for one in found])]


async def _may_show(step: StepContext, match: Match, waiting: Waiting) -> bool:
    if match.tool.id in step.tools.own:
        return False  # stands among the prompt's own tools already
    if not await step.allows(match.tool, "search", waiting):
        return False
    return not step.options.auto_load or await step.allows(match.tool, "load", waiting)


def _own(step: StepContext, spelled: list[str], query: str) -> list[Found]:
    """The caller's own tools, which are not indexed, where the query spells their name."""
    tools = [tool for tool in step.tools.own.values() if tool is not None]
    names = Names(tools)
    positions = dict.fromkeys(position for name in spelled for position in names.spelled(name))
    return [Found(tools[position], 1.0, query) for position in positions]


def _merged(rankings: Iterable[list[Found]]) -> list[Found]:
    """Every tool once, with its best score and the query that gave it; best first, ties in name order.

    The ranking of a single query keeps its own order.
    """
    rankings = list(rankings)
    if len(rankings) == 1:
        return rankings[0]
    best: dict[str, Found] = {}
    for one in (one for ranking in rankings for one in ranking):
        if one.tool.id not in best or one.score > best[one.tool.id].score:
            best[one.tool.id] = one
    return sorted(best.values(), key=lambda one: (-one.score, one.tool.id))


def _result(step: StepContext, one: Found, length: int, *, several: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": one.tool.id,
        "description": shorten(one.tool.description, length),
        "score": round(one.score, 4),
    }
    if step.in_prompt(one.tool.id) or one.tool.id in step.pending:
        result["status"] = "loaded"
    if several:
        result["query"] = clean(one.query, 100)
    return result


async def _activate(step: StepContext, names: list[str], waiting: Waiting) -> None:
    outside = [name for name in names if not step.in_prompt(name)]
    new = await step.loaded_set.add(outside, waiting)
    step.note_loaded(new)
    if new:
        step.history.progress()


def _message(step: StepContext, names: list[str], queries: list[str], *, more: int, skipped: int) -> str:
    here = [name for name in names if step.in_prompt(name)]
    coming = [name for name in names if name in step.pending and name not in here]
    fresh = [name for name in names if name not in here and name not in coming]
    verdict = step.history.judge(queries, names)
    auto_load = step.options.auto_load
    said = [texts.found(fresh, here, coming, auto_load=auto_load, keeps=step.loaded_set.keeps)]
    if not names:
        said = [texts.NOTHING]
    if more:
        said.append(texts.over_top_k(more) if auto_load else texts.dropped(more))
    if skipped:
        said.append(texts.too_many_queries(skipped, step.options.max_queries))
    if verdict.fruitless >= step.options.max_fruitless:
        said.append(texts.STOP)
    elif verdict.repeated and names:
        said.append(texts.REPEATED)
    return " ".join(said)
