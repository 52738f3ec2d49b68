"""One value of everything that travels, fixed for ever: its bytes are in golden/."""

import msgspec
import numpy as np

from coterie_learning.teacher import Teacher, sign_teacher
from coterie_wire.alliances import Alliance, AllianceFigures, ExchangeLetters, JoinAlliance, LettersNews
from coterie_wire.asking import OfferToAnswer, OpenQuestion
from coterie_wire.bundle import BlobRef, Manifest, ModelSpec, TensorSpec, sign_content, sign_manifest, verify_key_of
from coterie_wire.certificates import AskCertificate, Certified
from coterie_wire.conditions import Conditions, Reason, Requirements
from coterie_wire.device_log import DeliverLog, LogAsked, LogLine, ReportLog
from coterie_wire.discovery import AskPeerTicket, PeerTicket, PeerTicketGiven
from coterie_wire.evaluating import Evaluate, ReportEvaluation
from coterie_wire.exclusion import Excluded
from coterie_wire.fallback import AskPlatform, PlatformAnswer
from coterie_wire.helping import (
    AskHelp,
    DeclineTransfer,
    GiveVerdict,
    HelpNews,
    OfferPortion,
    Portion,
    Profile,
    ReportMerged,
    ReportProfile,
    ReportReceived,
    SampleNoise,
    Serve,
    StandingPlan,
    WithdrawHelp,
)
from coterie_wire.invitation import Invitation, Learned, ReadInvitation
from coterie_wire.latency import Histogram, Latency
from coterie_wire.message import Message
from coterie_wire.messages import (
    Assignment,
    Capabilities,
    CheckIn,
    CheckInWindow,
    DataMetadata,
    Directive,
    Done,
    Enrol,
    Enrolled,
    LabelFacts,
    Leave,
    NextCredential,
    OfferUpdate,
    PlatformFrame,
    Problem,
    Progress,
    Refusal,
    ReleaseAssignment,
    Reply,
    Request,
    UploadState,
    Wake,
)
from coterie_wire.owning import ExportPage, Forget, ForgetNews, HoldsUpdate, ReadExport, ReadReceipt, Rebuilt
from coterie_wire.paths import SendSignal
from coterie_wire.personal import ReportPersonal
from coterie_wire.platform_keys import sign_next_key
from coterie_wire.predictions import Output, Prediction
from coterie_wire.relaying import HandIn, HandInSum, OfferPartial, Receipt, SumReceipt, sign_receipt
from coterie_wire.secure_sum import (
    AskSum,
    Box,
    JoinSum,
    LogEntries,
    LogEntry,
    Member,
    OfferMasked,
    ReadLog,
    RevealShares,
    Share,
    ShareSecrets,
    SumNews,
)
from coterie_wire.tensors import Tensors
from coterie_wire.trial import Fit, ReportTrial, Shadowed, ShadowTrial, Trial, TrialFigures
from coterie_wire.updating import AgentUpdate, ReportUpdate
from coterie_wire.variants import Variant, Variants, digest_of, sign_variants

SIGNING_KEY = bytes(range(32))
MEMBER = Member("kitchen", bytes([1] * 32), bytes([2] * 32), bytes([3] * 32), bytes([4] * 32), bytes([5] * 64))
BOX = Box(3, 4, bytes([6] * 82))

VARIANTS = sign_variants(
    Variants(1, "v-7", (Variant("int8", BlobRef.of_bytes(b"int8")),)),
    SIGNING_KEY,
)

PARAMETERS = (TensorSpec("fc.bias", "float32", (3,)), TensorSpec("fc.weight", "float32", (3, 128)))

MANIFEST = Manifest(
    protocol=1,
    pair="digits",
    version="v-7",
    number=7,
    model=ModelSpec.of_classifier(
        inputs=(TensorSpec("image", "float32", (128,)),), classes=3, batch_size=32, parameters=PARAMETERS
    ),
    labels=("none", "eins", "zwölf"),
    train_step=BlobRef.of_bytes(b"train step"),
    predict=BlobRef.of_bytes(b"predict"),
    parameters=BlobRef.of_bytes(b"parameters"),
)
SIGNED_MANIFEST = sign_manifest(MANIFEST, SIGNING_KEY)

UPDATE: Tensors = {
    "fc.bias": np.array([0.5, 0, -0.25], np.float32),
    "fc.weight": (np.arange(384, dtype=np.float32).reshape(3, 128) - 100) / 1024,
}
SEED = 2**40 + 17

DEVICE_PLAN = msgspec.Raw(
    b'{"local":{"kind":"prox","epochs":2,"learning_rate":0.1,"momentum":0.9,"mu":0.01},'
    b'"codec":{"kind":"int8","granularity":"channel"},"privacy":{"kind":"clip","norm":10.0},'
    b'"requirements":{"charging":true,"unmetered":true,"hours":[22,6]},'
    b'"help":{"kind":"cartel","detector":{"kind":"page_hinkley","slack":0.02},"neighbours_tried":2},'
    b'"alone_every_s":null}'
)
CAPABILITIES = Capabilities(
    cores=4,
    memory_bytes=2**30,
    machine="aarch64 Linux",
    agent="0.2.0",
    train_step_s=0.004,
    kinds={"local": ("prox", "sgd"), "codec": ("float32", "int8")},
    platform_key=verify_key_of(SIGNING_KEY),
    answers=OfferToAnswer(subjects=("classes", "hardware"), without_noise=True, min_devices=20),
)
NEXT_KEY = verify_key_of(bytes([9]) * 32)
REASON = Reason(code="conditions.on_battery", sentence="The device runs on its battery.")
REQUIREMENTS = Requirements(idle=True, max_temperature_c=70.0, hours=(22, 6), unknown="allow")

HELP = "00000000-0000-0000-0000-000000000007"
PROFILE = Profile(
    batch=31,
    classes=(0, 2),
    counts=(120, 40),
    hits=(110, 9),
    drifting=True,
    willing=False,
    noise=SampleNoise(epsilon=3.25, delta=1e-6),
)
HELP_NEWS = HelpNews(
    request=HELP,
    state="delivered",
    reason=Reason(code="transfer.fetching", sentence="The portion waits for the device that asked."),
    portion=Portion(transfer="t-1", content=BlobRef.of_bytes(b"portion"), remaining_s=3600.0),
)

TEACHER = Teacher(
    protocol=1,
    pair="digits",
    version="c-2",
    inputs=MANIFEST.model.inputs,
    classes=3,
    parameters=PARAMETERS,
    predict=BlobRef.of_bytes(b"cloud predict"),
    weights=BlobRef.of_bytes(b"cloud weights"),
)
SIGNED_TEACHER = sign_teacher(TEACHER, SIGNING_KEY)

MESSAGES: tuple[Message, ...] = (
    ReadInvitation(token="coterie-once"),
    Invitation(
        devices_left=3,
        expires_s=3600.5,
        learned=(
            Learned(
                name="Digits",
                labels=("none", "eins", "zwölf"),
                requirements=REQUIREMENTS,
                privacy="clip",
                help="cartel",
            ),
        ),
    ),
    Enrol(protocol=1, token="coterie-once", name="kitchen", capabilities=CAPABILITIES),
    Enrolled(device="d-1", credential="secret", platform_key=verify_key_of(SIGNING_KEY), check_in_s=30.0),
    CheckIn(
        protocol=1,
        conditions=Conditions(charging="no", network="wifi", idle="unknown", temperature_c=41.5),
        blockers=(REASON,),
        progress=Progress(assignment="a-1", stage="training", steps_done=3, steps_total=40),
        version="v-7",
        metadata=DataMetadata(
            samples=120,
            class_counts=(100, 20, 0),
            labels=LabelFacts(asked=9, implied=40, unlabelled=7, questions=12, answers=9),
        ),
        capabilities=CAPABILITIES,
        standing=BlobRef.of_bytes(b"plan").sha256,
        help=HELP,
        variants=digest_of(VARIANTS),
        latencies=(Latency("v-7", "predict", "int8", Histogram((0, 0, 900, 100)), "no", 41.5),),
    ),
    Directive(
        check_in_s=5.0,
        assignment=Assignment(
            assignment="a-1",
            federation="digits",
            round=3,
            plan=DEVICE_PLAN,
            manifest=SIGNED_MANIFEST,
            seed=SEED,
            remaining_s=90.5,
            teacher=SIGNED_TEACHER,
            stream_index=2,
        ),
        manifest=SIGNED_MANIFEST,
        requirements=REQUIREMENTS,
        wait=Reason(code="round.needs_devices", sentence="Needs 5 devices, 2 eligible: 3 on battery."),
        variants=VARIANTS,
        question=OpenQuestion(
            answer="q-1",
            federation="digits",
            question=msgspec.Raw(b'{"count":{"kind":"classes","classes":3,"most":50},"noise_multiplier":2.5}'),
        ),
        next_keys=(sign_next_key(NEXT_KEY, former_until=1e9, signing_key=SIGNING_KEY),),
        stands=True,
        standing=StandingPlan(digest=BlobRef.of_bytes(b"plan").sha256, federation="digits", plan=DEVICE_PLAN),
        help=HELP_NEWS,
        federations=("digits",),
        serve=Serve(
            transfer="t-2",
            federation="digits",
            digest=BlobRef.of_bytes(b"plan").sha256,
            classes=(2,),
            remaining_s=300.0,
        ),
        trial=Trial(rollout="r-1", candidate="v-8", champion=SIGNED_MANIFEST),
        withdrawn=("v-6",),
        ignores_unknown=True,
        hides=True,
        shadow=ShadowTrial(rollout="r-1", candidate=SIGNED_MANIFEST, remaining_s=90.5),
        evaluate=Evaluate(evaluation="e-1", manifest=SIGNED_MANIFEST, remaining_s=3600.0),
        window=CheckInWindow(after_s=2500.0, within_s=5000.0),
        update=AgentUpdate(update="u-1", version="9.0.0", probation_s=600.0),
        log=LogAsked(request="l-1", hours=24, why="It has not trained since Monday.", keep_days=30),
    ),
    OfferUpdate(
        assignment="a-1",
        sha256=BlobRef.of_bytes(b"update").sha256,
        size_bytes=6,
        samples=120,
        steps_done=20,
        steps_total=40,
        loss_before=1.25,
        loss_after=0.5,
        accuracy_before=0.75,
        train_s=12.5,
        classes=(0, 2),
        train_memory_bytes=67_000_000,
    ),
    UploadState(offset=6, accepted=True),
    HandIn(
        assignment="a-1",
        receipt=sign_receipt(Receipt("a-1", "5" * 64, 1, 0.25), SIGNING_KEY),
        fingerprint=(17, 2**31 - 20),
    ),
    HandInSum(fold="f-1", receipt=sign_receipt(SumReceipt("f-1", "5" * 64, 2, "6" * 64), SIGNING_KEY)),
    OfferPartial(fold="f-1", sha256="5" * 64, size_bytes=4096),
    ReleaseAssignment(assignment="a-1", reason=REASON),
    ReportUpdate(update="u-1", outcome="rolled_back", reason=REASON),
    ReportLog(request="l-1", outcome="allowed", reason=REASON),
    DeliverLog(
        request="l-1",
        lines=(LogLine(at=1767261600.5, level="warning", source="contact", text="no contact with the platform"),),
        left_out=3,
    ),
    ReportProfile(federation="digits", profile=PROFILE),
    AskHelp(request=HELP, federation="digits", classes=(2,), profile=PROFILE),
    WithdrawHelp(request=HELP),
    HELP_NEWS,
    OfferPortion(transfer="t-1", sha256=BlobRef.of_bytes(b"portion").sha256, size_bytes=7),
    DeclineTransfer(transfer="t-1", reason=REASON),
    ReportMerged(transfer="t-1"),
    GiveVerdict(transfer="t-1", kept=True, accuracy_before=0.5, accuracy_after=0.875, samples=32),
    ReportTrial(
        rollout="r-1",
        compared=TrialFigures(
            samples=24, champion=Fit(loss=0.5, accuracy=0.875), candidate=Fit(loss=0.25, accuracy=0.9)
        ),
        shadowed=Shadowed(0.984375, champion=Histogram((0, 900, 100)), candidate=Histogram((1000,))),
    ),
    ReportPersonal(
        federation="digits", version="v-8", answers=True, samples=24, version_accuracy=0.5, own_accuracy=0.875
    ),
    JoinAlliance(alliance="l-1", key=bytes([1] * 32), partner=bytes([2] * 32), people=1500, columns=12),
    Alliance(role="labels", terms=msgspec.Raw(b'{"epochs":40}'), manifest=SIGNED_MANIFEST),
    ExchangeLetters(
        alliance="l-1",
        first=7,
        letters=(b"sealed",),
        received=6,
        figures=AllianceFigures(common=300, epoch=2, loss=0.5, accuracy=0.75, alone=0.5),
        ended="failed",
        reason=REASON,
    ),
    LettersNews(wanted=8, taken=7, letters=(b"sealed",), state="failed", reason=REASON),
    ReportEvaluation(evaluation="e-1", samples=24, fit=Fit(loss=0.5, accuracy=0.875)),
    ReadLog(bytes([1] * 32), known=2),
    LogEntries((LogEntry("kitchen", bytes([1] * 32)),), length=3),
    AskSum("a-1"),
    JoinSum("a-1", MEMBER),
    ShareSecrets("a-1", (BOX,)),
    OfferMasked("a-1", sha256="ab" * 32, size_bytes=80_000),
    RevealShares("a-1", (Share(4, "own_mask", bytes(33)), Share(5, "pair_masks", bytes([1] * 33)))),
    SumNews(
        session="s-1",
        to_do="reveal",
        again_s=2.0,
        reason=Reason("secure_sum.revealing", "2 of 3 devices have revealed their shares"),
        members=(MEMBER,),
        log_length=3,
        log_head=bytes([7] * 32),
        boxes=(BOX,),
        survivors=(0, 1, 4),
    ),
    ReadExport(section="updates", after="0f"),
    ExportPage(
        sections=("device", "updates"),
        rows=(msgspec.Raw(b'{"samples":40}'), msgspec.Raw(b'{"samples":41}')),
        after="10",
    ),
    Forget(receipt="3f0c9a52-6d5e-4b43-9a5e-6f1f8a9f0a11"),
    ReadReceipt(receipt="3f0c9a52-6d5e-4b43-9a5e-6f1f8a9f0a11"),
    ForgetNews(
        receipt="3f0c9a52-6d5e-4b43-9a5e-6f1f8a9f0a11",
        done=False,
        sentence="its files are being removed",
        asked_at="2026-01-01T12:00:00+00:00",
        device="d-1",
        taken_out=1,
        removed={"updates": 3},
        holds=(HoldsUpdate("digits", 31, "v-31", "2026-01-01T11:00:00+00:00", in_sum=True),),
        versions=1,
        rebuilt=(
            Rebuilt(
                "digits",
                True,
                "version 41 holds no update of the device",
                version=41,
                repeated=12,
                retired=10,
                elsewhere=1,
                done_at="2026-01-01T13:00:00+00:00",
            ),
        ),
        done_at="2026-01-01T13:00:01+00:00",
    ),
    NextCredential(sha256=BlobRef.of_bytes(b"next").sha256),
    AskCertificate(request=bytes(range(129)), proofs=(bytes([1] * 64), bytes([2] * 64))),
    Certified(chain=(b"the device's", b"its authority's")),
    AskPlatform(federation="digits", samples=(bytes(16), b"\x00\x00\x80?" * 4), remaining_s=0.75),
    PlatformAnswer(version="v-8", model="cloud", predictions=(Prediction("three", 3, 0.75), Output([0.25, 1.5]))),
    AskPeerTicket(),
    PeerTicketGiven(
        ticket=sign_content(
            msgspec.json.encode(PeerTicket(1, "d-1", bytes([1] * 32), expires_at=1_767_312_000.0)), bytes(32)
        ),
        excluded=sign_content(msgspec.json.encode(Excluded(1, ("d-2",), written_at=1_767_225_600.0)), bytes(32)),
    ),
    SendSignal(path="0123456789abcdef" * 2, to="d-2", sealed=b"sealed"),
    ReportReceived(transfer="t-1", failed=Reason("transfer.no_direct_path", "the networks between let none through")),
    Leave(),
    Done(),
)

PROBLEM = Problem(
    code="fleet.unknown_device",
    title="Not found",
    status=404,
    detail="There is no device d-9.",
    fields={"device": "d-9", "known": 3, "share": 0.5, "final": True, "until": None},
)
REQUEST = Request(id=4, name="leave", body=msgspec.Raw(b"{}"))
PLATFORM_FRAMES: tuple[PlatformFrame, ...] = (
    Reply(id=4, body=msgspec.Raw(b'{"offset":6}')),
    Refusal(id=5, problem=PROBLEM),
    Wake(),
)
