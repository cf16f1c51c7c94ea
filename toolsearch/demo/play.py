"""A play: one scenario performed on a stage, and how it went."""

from collections.abc import Callable
from dataclasses import dataclass

from toolsearch.console.effort import Effort
from toolsearch.demo.agent import Step, work
from toolsearch.demo.scenario import Scenario, StuckError
from toolsearch.demo.stage import Stage
from toolsearch.transcript import SEARCH_TOOLS


@dataclass(frozen=True, slots=True)
class Outcome:
    """Every step that was played, and what stopped the play, if anything did."""

    steps: tuple[Step, ...]
    problem: str | None

    @property
    def tokens(self) -> int:
        """What all model calls cost together."""
        return sum(step.tokens for step in self.steps)

    @property
    def everything(self) -> int:
        """What the same work costs with every tool in the prompt: neither searches nor loads are needed then."""
        return sum(step.everything for step in self.steps if step.needed_anyway)

    @property
    def calls_with_everything(self) -> int:
        """Model calls with every tool in the prompt."""
        return sum(step.needed_anyway for step in self.steps)

    @property
    def searches(self) -> tuple[Effort, ...]:
        """What each search took, in order."""
        return tuple(
            step.effort
            for step in self.steps
            if step.call is not None and step.call.name == SEARCH_TOOLS and step.effort is not None
        )

    @property
    def called(self) -> tuple[str, ...]:
        """The catalog's tools that answered, in order."""
        return tuple(
            step.call.name
            for step in self.steps
            if step.call is not None and step.needed_anyway and step.reply is not None and not step.reply.is_error
        )


def play(stage: Stage, scenario: Scenario, *, on_step: Callable[[Step], None] | None = None) -> Outcome:
    """Perform the scenario; each step is handed to `on_step` as it happens. A play that gets stuck is an outcome, not an error."""
    steps: list[Step] = []
    problem = None
    try:
        for step in work(stage.processor, scenario, encoder=stage.encoder, gauge=stage.gauge):
            steps.append(step)
            if on_step is not None:
                on_step(step)
    except StuckError as stuck:
        problem = str(stuck)
    return Outcome(tuple(steps), problem)
