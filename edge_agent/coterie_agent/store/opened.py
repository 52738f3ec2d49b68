"""The store of one agent, opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from coterie_agent.home import Home
from coterie_agent.store.agreements import AgreementStore
from coterie_agent.store.alliances import AllianceStore
from coterie_agent.store.check_ins import CheckInStore
from coterie_agent.store.choices import ChoicesStore
from coterie_agent.store.contents import Contents
from coterie_agent.store.database import Database, StoreDamaged
from coterie_agent.store.evaluating import EvaluationStore
from coterie_agent.store.exclusions import ExclusionStore
from coterie_agent.store.identity import IdentityStore
from coterie_agent.store.identity_log import IdentityLogStore
from coterie_agent.store.island import IslandStore
from coterie_agent.store.journal import Journal
from coterie_agent.store.labelling import LabellingStore
from coterie_agent.store.latencies import LatencyStore
from coterie_agent.store.log_requests import LogRequestStore
from coterie_agent.store.meetings import MeetingStore
from coterie_agent.store.neighbours import NeighbourStore
from coterie_agent.store.peers import PeersStore
from coterie_agent.store.phones import PhoneStore
from coterie_agent.store.platform_offer import PlatformOfferStore
from coterie_agent.store.predicted import PredictedStore
from coterie_agent.store.privacy_ledger import PrivacyLedgerStore
from coterie_agent.store.promises import PromiseStore
from coterie_agent.store.questions import QuestionStore
from coterie_agent.store.samples import SampleStore
from coterie_agent.store.secure_sum import SecureSumStore
from coterie_agent.store.shadow import ShadowStore
from coterie_agent.store.teacher_probabilities import TeacherProbabilitiesStore
from coterie_agent.store.variants import VariantStore
from coterie_agent.store.work import WorkStore


@dataclass(frozen=True)
class Store:
    """The parts of the store.

    All but the journal, the next check-in, the latencies and the neighbours' addresses survive power loss.
    """

    identity: IdentityStore
    samples: SampleStore
    labelling: LabellingStore
    work: WorkStore
    meetings: MeetingStore
    secure_sum: SecureSumStore
    identity_log: IdentityLogStore
    questions: QuestionStore
    question_sum: SecureSumStore
    """The sum that a question is answered in."""
    privacy_ledger: PrivacyLedgerStore
    promises: PromiseStore
    agreements: AgreementStore
    peers: PeersStore
    neighbours: NeighbourStore
    exclusions: ExclusionStore
    island: IslandStore
    teaching: TeacherProbabilitiesStore
    variants: VariantStore
    evaluating: EvaluationStore
    latencies: LatencyStore
    predicted: PredictedStore
    choices: ChoicesStore
    phones: PhoneStore
    shadow: ShadowStore
    platform_offer: PlatformOfferStore
    alliances: AllianceStore
    log_requests: LogRequestStore
    journal: Journal
    check_ins: CheckInStore
    contents: Contents


@contextmanager
def open_store(home: Home) -> Iterator[Store]:
    """The store below `home`, created if it is not there. Raises StoreFailed, or AgentError ``store.schema``."""
    home.create()
    _check_not_emptied(home)
    durable = Database(home.database)
    hints = Database(home.database, durability="process")
    try:
        yield Store(
            identity=IdentityStore(durable, home),
            samples=SampleStore(durable),
            labelling=LabellingStore(durable),
            work=WorkStore(durable),
            meetings=MeetingStore(durable),
            secure_sum=SecureSumStore(durable),
            identity_log=IdentityLogStore(durable),
            questions=QuestionStore(durable),
            question_sum=SecureSumStore(durable, of="answer"),
            privacy_ledger=PrivacyLedgerStore(durable),
            promises=PromiseStore(durable),
            agreements=AgreementStore(durable),
            peers=PeersStore(durable),
            neighbours=NeighbourStore(hints),
            exclusions=ExclusionStore(durable),
            island=IslandStore(durable),
            teaching=TeacherProbabilitiesStore(durable),
            variants=VariantStore(durable),
            evaluating=EvaluationStore(durable),
            latencies=LatencyStore(hints),
            predicted=PredictedStore(hints),
            choices=ChoicesStore(durable),
            phones=PhoneStore(durable),
            shadow=ShadowStore(durable),
            platform_offer=PlatformOfferStore(durable),
            alliances=AllianceStore(durable),
            log_requests=LogRequestStore(durable),
            journal=Journal(hints),
            check_ins=CheckInStore(hints),
            contents=Contents(durable),
        )
    finally:
        hints.close()
        durable.close()


def _check_not_emptied(home: Home) -> None:
    """Raises StoreDamaged where the file is empty although the device has joined; SQLite takes it for a new one."""
    if home.credential.exists() and home.database.exists() and home.database.stat().st_size == 0:
        raise StoreDamaged(home.database, "it is empty")
