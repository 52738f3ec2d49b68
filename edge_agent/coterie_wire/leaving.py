"""Everything that leaves a device: what each field of each message and file reveals, and what a plan's privacy hides.

A test fails where a field of a message has no entry here (`tests/contract/test_leaving.py`).
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Covered = Literal["clear", "noise", "summed", "not sent"]
"""How the platform can read a value: as it is, with the device's own noise, only in a sum, or not at all."""


class Disclosure(NamedTuple):
    """What a field reveals, and how the platform can read it."""

    what: str
    local_noise: Covered = "clear"
    masked: Covered = "clear"
    """The same under secure aggregation. Noise that the platform adds (`central_noise`, `correlated_noise`) hides
    nothing from the platform; it protects updates from everybody who sees versions."""


LEAVES: Mapping[str, Disclosure] = {
    # Who the device is and what it runs on.
    "ReadInvitation.token": Disclosure("secret of the enrolment"),
    "Enrol.protocol": Disclosure("version of the protocol"),
    "Enrol.token": Disclosure("secret of the enrolment"),
    "Enrol.name": Disclosure("name that its owner gave it"),
    "Capabilities.cores": Disclosure("processor cores"),
    "Capabilities.memory_bytes": Disclosure("memory"),
    "Capabilities.machine": Disclosure("kind of processor and system"),
    "Capabilities.agent": Disclosure("version of the agent"),
    "Capabilities.train_step_s": Disclosure("how long a train step takes", masked="not sent"),
    "Capabilities.kinds": Disclosure("which kinds of a plan it has"),
    "Capabilities.peer_key": Disclosure("public key that neighbours know it by"),
    "Capabilities.platform_key": Disclosure("public key of the platform that it trusts"),
    "OfferToLead.address": Disclosure(
        "address that its neighbours reach it at, where its owner lets it sum their updates"
    ),
    "OfferToLead.members": Disclosure("neighbours whose updates it takes at once"),
    "OfferToLead.sums": Disclosure("whether it adds up sums of other supernodes, too"),
    "OfferToLead.islands": Disclosure("whether it keeps the roles of its neighbourhood while the platform is away"),
    "Shedding.keep": Disclosure("neighbours that it can keep as their supernode, when that is fewer"),
    "Capabilities.evaluates": Disclosure("that it takes part in federated evaluations"),
    "Capabilities.shadows": Disclosure("that a version may answer beside its own"),
    "Capabilities.renews": Disclosure("that it can draw another credential"),
    "Capabilities.certifies": Disclosure("that it can ask for certificates of its connection"),
    "Capabilities.asks_platform": Disclosure("that its owner lets samples go to the platform for an answer"),
    "Capabilities.declines": Disclosure("what its owner has taken back: federations, and what plans may have leave it"),
    "Capabilities.paths": Disclosure("that its owner lets it meet other devices by direct paths"),
    "ReportUpdate.update": Disclosure("which update of its agent it tells about"),
    "ReportUpdate.outcome": Disclosure(
        "whether another release of its agent waits, runs, was refused or was gone back from"
    ),
    "NextCredential.sha256": Disclosure("hash of the credential that it draws, from which nobody finds the credential"),
    "AskCertificate.request": Disclosure("public key that it draws for its connection"),
    "AskCertificate.proofs": Disclosure("signatures of that key with the keys before"),
    "OfferToMeet.address": Disclosure("address that its peers reach it at, where its owner lets it meet them"),
    "OfferToAnswer.subjects": Disclosure("what its owner lets it be counted in, when the platform asks a fleet"),
    "OfferToAnswer.without_noise": Disclosure("whether it may be counted where the sum has no noise"),
    "OfferToAnswer.min_devices": Disclosure("with how many others it must be counted at least"),
    # What it is doing.
    "CheckIn.protocol": Disclosure("version of the protocol"),
    "CheckIn.version": Disclosure("model version that it holds"),
    "CheckIn.standing": Disclosure("digest of the plan that it knows"),
    "CheckIn.help": Disclosure("help request that it waits for"),
    "CheckIn.variants": Disclosure("digest of the list of smaller forms of that version that it knows"),
    "CheckIn.excluded_at": Disclosure("when the list of excluded devices was written that it has heard of last"),
    "Conditions.charging": Disclosure("whether it charges"),
    "Conditions.network": Disclosure("kind of its network"),
    "Conditions.idle": Disclosure("whether somebody uses it"),
    "Conditions.temperature_c": Disclosure("its temperature"),
    "Conditions.confirmed": Disclosure("which of these its owner said, since nothing on the device tells them"),
    "Reason.code": Disclosure("why it does not train, gives something back or refuses it, as a code"),
    "Reason.sentence": Disclosure("the same as a sentence"),
    "Progress.assignment": Disclosure("which assignment it works on"),
    "Progress.stage": Disclosure("whether it trains, waits or uploads"),
    "Progress.steps_done": Disclosure("steps done, from which samples can be estimated", masked="not sent"),
    "Progress.steps_total": Disclosure("steps to do, from which samples can be estimated", masked="not sent"),
    "Latency.version": Disclosure("model version that was measured last", masked="not sent"),
    "Latency.work": Disclosure("whether a train step or a prediction was measured", masked="not sent"),
    "Latency.form": Disclosure("which form of the version", masked="not sent"),
    "Latency.charging": Disclosure("whether it charged meanwhile", masked="not sent"),
    "Latency.hottest_c": Disclosure("how hot it was at most", masked="not sent"),
    "Histogram.counts": Disclosure(
        "how long a train step or a prediction takes, as shares of a thousand", masked="not sent"
    ),
    # What it tells of its data.
    "DataMetadata.samples": Disclosure("number of its samples", masked="not sent"),
    "DataMetadata.class_counts": Disclosure(
        "number of its samples of each class; not sent where the plan's help has noise", masked="not sent"
    ),
    "LabelFacts.asked": Disclosure("samples that its owner has labelled when asked", masked="not sent"),
    "LabelFacts.implied": Disclosure("samples that a program on it has labelled", masked="not sent"),
    "LabelFacts.unlabelled": Disclosure("samples without a label", masked="not sent"),
    "LabelFacts.questions": Disclosure("questions about labels that its owner was asked", masked="not sent"),
    "LabelFacts.answers": Disclosure("how many of these were answered", masked="not sent"),
    # An update.
    "update: parameters": Disclosure("what training changed", "noise", "summed"),
    "update: running statistics": Disclosure("means and variances of its activations", "clear", "summed"),
    "update: numbers of the algorithm": Disclosure(
        "what some kinds of `local` send beside parameters", "not sent", "summed"
    ),
    "OfferUpdate.assignment": Disclosure("which assignment it answers", masked="not sent"),
    "OfferUpdate.sha256": Disclosure("hash of the file", masked="not sent"),
    "OfferUpdate.size_bytes": Disclosure("size of the file", masked="not sent"),
    "OfferUpdate.samples": Disclosure("samples that it was made of", masked="summed"),
    "OfferUpdate.steps_done": Disclosure("steps that it was made in", masked="not sent"),
    "OfferUpdate.steps_total": Disclosure("steps that were to be done", masked="not sent"),
    "OfferUpdate.loss_before": Disclosure("loss of the version on its samples", masked="summed"),
    "OfferUpdate.loss_after": Disclosure("loss after training", masked="summed"),
    "OfferUpdate.accuracy_before": Disclosure("accuracy of the version on samples held out", masked="summed"),
    "OfferUpdate.train_s": Disclosure("seconds of training", masked="not sent"),
    "OfferUpdate.classes": Disclosure(
        "classes that it has samples of, where a plan customises the output layer", "not sent", "not sent"
    ),
    "OfferUpdate.train_memory_bytes": Disclosure("memory of the agent while it trained", masked="not sent"),
    "OfferUpdate.suspects": Disclosure("peers whose models lay far off at meetings with it", masked="not sent"),
    "ReleaseAssignment.assignment": Disclosure("which assignment it gives back"),
    # An update that goes to a neighbour, which reads it, and from there in a sum: only under topology `supernodes`.
    "HandIn.assignment": Disclosure("which assignment it answers", masked="not sent"),
    "SignedReceipt.receipt": Disclosure(
        "a neighbour's word that it has the update, or the sum: its hash, and the norm or the hash of what is in it",
        masked="not sent",
    ),
    "SignedReceipt.signature": Disclosure("signature of that", masked="not sent"),
    "HandIn.fingerprint": Disclosure("two numbers to check the neighbour's sum with", masked="not sent"),
    "HandIn.tier_fingerprints": Disclosure("numbers to check sums of sums with", masked="not sent"),
    "HandInSum.fold": Disclosure("which sum another supernode has of it", masked="not sent"),
    "OfferPartial.fold": Disclosure("which sum it sends", masked="not sent"),
    "OfferPartial.sha256": Disclosure("hash of the sum", masked="not sent"),
    "OfferPartial.size_bytes": Disclosure("size of the sum", masked="not sent"),
    "partial aggregate": Disclosure("the sum of its neighbours' updates", "noise", "not sent"),
    # What goes to peers, not to the platform, which reads none of it: only under topology `gossip`.
    "model among peers": Disclosure("its model and how many samples it has, which peers read", "not sent", "not sent"),
    "signal": Disclosure("where it may be reached, sealed for a peer; who passes it on does not read it"),
    # What goes to other devices alone, where its owner lets it find them, or be found, without the platform.
    "address record": Disclosure("its name at the platform, its public key, and the addresses that it answers at"),
    "announcement": Disclosure("its public key, its port and its addresses, to whoever is on its local network"),
    "question for an address": Disclosure(
        "its name, its public key, and whose address or which neighbours it looks for"
    ),
    # What supernodes of one neighbourhood tell each other while the platform is away.
    "roles of an island": Disclosure("its name, who of them leads, and which of them holds which assignment's update"),
    # A secure sum.
    "ReadLog.identity": Disclosure("public key that it signs with"),
    "ReadLog.known": Disclosure("entries of the log of identities that it has read"),
    "AskSum.assignment": Disclosure("which assignment it is summed for"),
    "JoinSum.assignment": Disclosure("which assignment it is summed for"),
    "Member.device": Disclosure("its identity"),
    "Member.identity": Disclosure("public key that it signs with"),
    "Member.mask": Disclosure("public key of its masks in one sum"),
    "Member.channel": Disclosure("public key of its boxes in one sum"),
    "Member.commitment": Disclosure("hash of the seed of its own mask"),
    "Member.signature": Disclosure("signature of these keys"),
    "ShareSecrets.assignment": Disclosure("which assignment it is summed for"),
    "Box.sender": Disclosure("its place in the list"),
    "Box.to": Disclosure("place of the device that the box is for"),
    "Box.content": Disclosure("shares of its secrets, which only that device can read"),
    "OfferMasked.assignment": Disclosure("which assignment it is summed for"),
    "OfferMasked.sha256": Disclosure("hash of the masked vector"),
    "OfferMasked.size_bytes": Disclosure("size of the masked vector, the same for all"),
    "masked vector": Disclosure("numbers that nobody can tell from random ones before they are summed with others'"),
    "RevealShares.assignment": Disclosure("which assignment it is summed for"),
    "Share.owner": Disclosure("place of the device that the share is of"),
    "Share.of": Disclosure("whether that device delivered"),
    "Share.share": Disclosure("a share of one secret of that device, never of both"),
    # An answer to a question: the same messages and masked vector, of counts and, where asked for, its share of noise.
    "answer": Disclosure("what it counts of itself, which is read only as a sum over devices", "summed", "summed"),
    # Help between devices, which privacy kinds refuse.
    "ReportProfile.federation": Disclosure("federation", "not sent", "not sent"),
    "Profile.batch": Disclosure("batches seen", "not sent", "not sent"),
    "Profile.classes": Disclosure(
        "classes among its latest batches; those that stand out from the noise where there is any",
        "not sent",
        "not sent",
    ),
    "Profile.counts": Disclosure(
        "samples of each; rounded or left out where the owner wants it, with noise where the plan's help has any",
        "not sent",
        "not sent",
    ),
    "Profile.hits": Disclosure(
        "how many of each were predicted rightly, with noise where the plan's help has any", "not sent", "not sent"
    ),
    "Profile.drifting": Disclosure("whether its model fails it, without noise", "not sent", "not sent"),
    "Profile.willing": Disclosure("whether its owner lets it help", "not sent", "not sent"),
    "SampleNoise.epsilon": Disclosure("what its noise leaves to be learned of one sample", "not sent", "not sent"),
    "SampleNoise.delta": Disclosure("the delta of that, which its owner has set", "not sent", "not sent"),
    "AskHelp.request": Disclosure(
        "number of a help request, and by when it comes that its model fails, without noise", "not sent", "not sent"
    ),
    "AskHelp.federation": Disclosure("federation", "not sent", "not sent"),
    "AskHelp.classes": Disclosure(
        "classes that its model fails on, by what its profile tells where that has noise", "not sent", "not sent"
    ),
    "WithdrawHelp.request": Disclosure(
        "number of a help request, and that its model no longer fails, without noise", "not sent", "not sent"
    ),
    "OfferPortion.transfer": Disclosure("which transfer it serves", "not sent", "not sent"),
    "OfferPortion.sha256": Disclosure("hash of a portion", "not sent", "not sent"),
    "OfferPortion.size_bytes": Disclosure("size of a portion", "not sent", "not sent"),
    "portion": Disclosure("a part of its own model", "not sent", "not sent"),
    "DeclineTransfer.transfer": Disclosure("which transfer it declines", "not sent", "not sent"),
    "ReportReceived.transfer": Disclosure("which transfer it fetches from the helper itself", "not sent", "not sent"),
    # What it tells another device, sealed, so as to meet it by a direct path.
    "SendSignal.path": Disclosure("random name of a direct path"),
    "SendSignal.to": Disclosure("which device it would meet"),
    "SendSignal.sealed": Disclosure("where it may be reached, sealed for that device; the platform does not read it"),
    "ReportMerged.transfer": Disclosure("which transfer it has merged", "not sent", "not sent"),
    "GiveVerdict.transfer": Disclosure("which transfer it judged", "not sent", "not sent"),
    "GiveVerdict.kept": Disclosure("whether it kept what it merged", "not sent", "not sent"),
    "GiveVerdict.accuracy_before": Disclosure(
        "accuracy of its own model before, on its newest samples, without noise", "not sent", "not sent"
    ),
    "GiveVerdict.accuracy_after": Disclosure(
        "accuracy of its own model after, on the same, without noise", "not sent", "not sent"
    ),
    "GiveVerdict.samples": Disclosure("samples judged on", "not sent", "not sent"),
    # Samples themselves, which go to the platform for an answer only where the plan and the device's owner allow it.
    "AskPlatform.federation": Disclosure("federation whose model is to answer", "not sent", "not sent"),
    "AskPlatform.samples": Disclosure("the samples that are to be answered, as they are", "not sent", "not sent"),
    "AskPlatform.remaining_s": Disclosure("how long it waits for the answer", "not sent", "not sent"),
    # Its log, which goes to the platform only where its owner allows a request of an operator, and is a receipt.
    "ReportLog.request": Disclosure("which request for its log it tells about"),
    "ReportLog.outcome": Disclosure("whether its owner allows that its log is sent"),
    "DeliverLog.request": Disclosure("which request its log is for"),
    "LogLine.at": Disclosure("when its agent logged a line"),
    "LogLine.level": Disclosure("how serious that line is"),
    "LogLine.source": Disclosure("which part of its agent wrote it"),
    "LogLine.text": Disclosure(
        "what it logged, without secrets, samples and their number, and without any figure under secure aggregation"
    ),
    "DeliverLog.left_out": Disclosure("how many older lines are left out"),
    # What its owner asks.
    "ReadExport.section": Disclosure("which part of what the platform knows of it its owner reads"),
    "ReadExport.after": Disclosure("how far its owner has read"),
    "Forget.receipt": Disclosure("number that its owner reads the receipt by, once it is forgotten"),
    "ReadReceipt.receipt": Disclosure("the same"),
    # Trials of versions, and personal models.
    "ReportTrial.rollout": Disclosure("which roll-out it tries"),
    "ReportEvaluation.evaluation": Disclosure("which federated evaluation it answers", masked="not sent"),
    "ReportEvaluation.samples": Disclosure("samples that a version was evaluated on", masked="not sent"),
    "TrialFigures.samples": Disclosure("samples compared on", masked="not sent"),
    "Fit.loss": Disclosure("loss of a version on its samples", masked="not sent"),
    "Fit.accuracy": Disclosure("accuracy of a version on its samples", masked="not sent"),
    "Shadowed.agreement": Disclosure(
        "how often a version answers programs on it as the one in use does", masked="not sent"
    ),
    "JoinAlliance.alliance": Disclosure("which alliance its owner agrees to"),
    "JoinAlliance.key": Disclosure("public key that its letters are sealed with"),
    "JoinAlliance.partner": Disclosure("public key of the other party that its owner agrees to"),
    "JoinAlliance.people": Disclosure("how many people its table has"),
    "JoinAlliance.columns": Disclosure("how many columns its table has"),
    "ExchangeLetters.alliance": Disclosure("which alliance its letters are of"),
    "ExchangeLetters.first": Disclosure("number of a letter"),
    "ExchangeLetters.letters": Disclosure(
        "points, values and gradients for the other party, which only that one can read"
    ),
    "ExchangeLetters.received": Disclosure("letters of the other party that it has taken"),
    "ExchangeLetters.ended": Disclosure("whether it has finished, or cannot go on"),
    "AllianceFigures.common": Disclosure("how many people both parties know"),
    "AllianceFigures.epoch": Disclosure("epochs that have ended"),
    "AllianceFigures.loss": Disclosure("loss of the latest epoch, over all people"),
    "AllianceFigures.accuracy": Disclosure("accuracy on all people held out"),
    "AllianceFigures.alone": Disclosure("the same without the other party"),
    "ReportPersonal.federation": Disclosure("federation", masked="not sent"),
    "ReportPersonal.version": Disclosure("version that it held", masked="not sent"),
    "ReportPersonal.answers": Disclosure("whether its personal model answers its owner", masked="not sent"),
    "ReportPersonal.samples": Disclosure("samples compared on; rounded where the owner wants it", masked="not sent"),
    "ReportPersonal.version_accuracy": Disclosure("accuracy of the version on its samples", masked="not sent"),
    "ReportPersonal.own_accuracy": Disclosure("accuracy of its personal model", masked="not sent"),
}
"""Disclosures by ``STRUCT.FIELD`` of a message, or by the name of a file."""
