"""The thread that answers questions: it counts what the owner agrees to, and sends it as part of a secure sum."""

import logging
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coterie_agent.budget import Budget
from coterie_agent.config import Config
from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.retrying import Retrying
from coterie_agent.situation import Now, Situation
from coterie_agent.store.database import StoreFailed
from coterie_agent.store.identity import Identity
from coterie_agent.store.opened import Store
from coterie_agent.store.questions import QuestionOutcome
from coterie_wire.asking import OpenQuestion
from coterie_wire.errors import WireError

if TYPE_CHECKING:  # they load NumPy
    from coterie_learning.question import Question
    from coterie_learning.secure_sum.vector import Vector

log = logging.getLogger(__name__)
_SECRET_BYTES = 32


@dataclass(kw_only=True)
class AnsweringThread:
    """The thread; its next action follows from the store and the situation, so it may stop at any moment."""

    identity: Identity
    config: Config
    store: Store
    link: HttpLink
    situation: Situation
    _retrying: Retrying = field(init=False)

    def __post_init__(self) -> None:
        longest_s = max(1.0, self.identity.check_in_s)
        self._retrying = Retrying(link=self.link, situation=self.situation, longest_s=longest_s)

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            asked = self._due(now)
            if asked is None:
                self.situation.wait(now.edition, None)
            else:
                self._attempt(asked)

    def _due(self, now: Now) -> OpenQuestion | None:
        asked = now.directive.question if now.directive else None
        if asked is None or self.situation.is_offline() or self.store.questions.is_finished(asked.answer):
            return None
        return asked

    def _attempt(self, asked: OpenQuestion) -> None:
        try:
            self._answer(asked)
            self._retrying.succeed()
        except (AgentError, WireError) as error:
            if self._retrying.handles(error):
                return
            if isinstance(error, StoreFailed):
                raise  # the store could not record it
            if self._retrying.give_back(asked.answer, error):
                self._finish(asked, "declined", error.detail)

    def _answer(self, asked: OpenQuestion) -> None:
        """Raises AgentError ``question.not_agreed`` or ``privacy.device_budget``, and what `SecureSum.run` raises."""
        # Only here: NumPy takes 20 MB, and most devices are asked rarely.
        from coterie_agent.secure_sum import SecureSum
        from coterie_learning.question import parse_question

        question = parse_question(asked.question)
        self._check(question)
        self.store.questions.begin(asked.answer)
        ended = SecureSum(
            assignment=asked.answer,
            device=self.identity.device,
            identity=self.store.identity.key(),
            terms=question.terms,
            vector=lambda members: self._vector(asked, question, members),
            link=self.link,
            store=self.store.question_sum,
            log=self.store.identity_log,
            situation=self.situation,
            report_wait=self.situation.set_question_wait,
            chunk_bytes=self.config.chunk_bytes,
        ).run()
        if isinstance(ended, Refused):
            self._finish(asked, "uncounted", ended.detail)
        elif ended is not None and ended.to_do == "counted":
            self._finish(asked, "answered", "the device is counted in a sum, in which nobody can read it")
        elif ended is not None:
            why = "the sum ended without the device" if ended.reason is None else ended.reason.sentence
            self._finish(asked, "uncounted", why)

    def _check(self, question: "Question") -> None:
        """Raises AgentError ``question.not_agreed`` or ``privacy.device_budget``."""
        agreed = self.config.questions
        others = sorted(question.subjects - set(agreed.answer))
        if others:
            detail = f"the owner has not agreed to be counted in {' and '.join(others)}"
        elif question.noise_multiplier is None and not agreed.without_noise:
            detail = "the owner has agreed to sums with noise only"
        elif question.min_devices < agreed.min_devices:
            detail = f"the sum may be of {question.min_devices} devices, and the owner wants {agreed.min_devices}"
        else:
            if question.noise_multiplier is not None:
                self._budget.check(question.noise_multiplier)
            return
        raise AgentError("question.not_agreed", f"{detail} (agent.toml, [questions])")

    def _vector(self, asked: OpenQuestion, question: "Question", members: int) -> "Vector":
        """What the device adds to a sum of `members`; the privacy budget is charged before it can be sent."""
        from coterie_agent.own_facts import own_facts
        from coterie_learning.answers import Encoding

        if question.noise_multiplier is not None:
            self._budget.charge(asked.answer, asked.federation, question.noise_multiplier, now=time.time())
        counted = question.counted(own_facts(self.store, self.situation.now))
        return Encoding(question, members).vector(counted, key=secrets.token_bytes(_SECRET_BYTES))

    @property
    def _budget(self) -> Budget:
        return Budget(self.config.privacy, self.store.privacy_ledger)

    def _finish(self, asked: OpenQuestion, outcome: QuestionOutcome, sentence: str) -> None:
        self.store.questions.finish(asked, outcome, sentence, now=time.time())
        log.info("question of %s: %s: %s", asked.federation, outcome, sentence)
