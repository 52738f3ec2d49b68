"""Everything that leaves a device: each field of each message and file, what it tells, and what a plan's privacy hides.

A field that a message gains without an entry here fails a test (`tests/contract/test_leaving.py`).
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Covered = Literal["clear", "noise", "summed", "not sent"]
"""Read as it is; read with the device's own noise; hidden in a sum; not sent at all."""


class Told(NamedTuple):
    """What a field tells, and of what it is readable for the platform."""

    what: str
    local_noise: Covered = "clear"
    masked: Covered = "clear"
    """Under secure aggregation. Noise at the platform (`central_noise`, `correlated_noise`) hides none of it from the
    platform, and all of an update from whoever sees versions."""


LEAVES: Mapping[str, Told] = {
    # Who the device is and what it runs on.
    "ReadInvitation.token": Told("secret of the enrolment"),
    "Enrol.protocol": Told("version of the protocol"),
    "Enrol.token": Told("secret of the enrolment"),
    "Enrol.name": Told("name that its owner gave it"),
    "Capabilities.cores": Told("processor cores"),
    "Capabilities.memory_bytes": Told("memory"),
    "Capabilities.machine": Told("kind of processor and system"),
    "Capabilities.agent": Told("version of the agent"),
    "Capabilities.train_step_s": Told("how long a train step takes", masked="not sent"),
    "Capabilities.kinds": Told("which kinds of a plan it has"),
    "Capabilities.peer_key": Told("public key that neighbours know it by"),
    "Capabilities.platform_key": Told("public key of the platform that it trusts"),
    "OfferToLead.address": Told("address that its neighbours reach it at, where its owner lets it sum their updates"),
    "OfferToLead.members": Told("neighbours whose updates it takes at once"),
    "OfferToLead.sums": Told("whether it adds up sums of other supernodes, too"),
    "OfferToLead.islands": Told("whether it keeps the roles of its neighbourhood while the platform is away"),
    "Shedding.keep": Told("neighbours that it can keep as their supernode, when that is fewer"),
    "Capabilities.evaluates": Told("that it takes part in federated evaluations"),
    "Capabilities.shadows": Told("that a version may answer beside its own"),
    "Capabilities.renews": Told("that it can draw another credential"),
    "Capabilities.certifies": Told("that it can ask for certificates of its connection"),
    "Capabilities.asks_platform": Told("that its owner lets samples go to the platform for an answer"),
    "Capabilities.declines": Told("what its owner has taken back: federations, and what plans may have leave it"),
    "Capabilities.paths": Told("that its owner lets it meet other devices by direct paths"),
    "ReportUpdate.update": Told("which update of its agent it tells about"),
    "ReportUpdate.outcome": Told("whether another release of its agent waits, runs, was refused or was gone back from"),
    "NextCredential.sha256": Told("hash of the credential that it draws, from which nobody finds the credential"),
    "AskCertificate.request": Told("public key that it draws for its connection"),
    "AskCertificate.proofs": Told("signatures of that key with the keys before"),
    "OfferToMeet.address": Told("address that its peers reach it at, where its owner lets it meet them"),
    "OfferToAnswer.subjects": Told("what its owner lets it be counted in, when the platform asks a fleet"),
    "OfferToAnswer.without_noise": Told("whether it may be counted where the sum has no noise"),
    "OfferToAnswer.min_devices": Told("with how many others it must be counted at least"),
    # What it is doing.
    "CheckIn.protocol": Told("version of the protocol"),
    "CheckIn.version": Told("model version that it holds"),
    "CheckIn.standing": Told("digest of the plan that it knows"),
    "CheckIn.help": Told("help request that it waits for"),
    "CheckIn.variants": Told("digest of the list of smaller forms of that version that it knows"),
    "CheckIn.excluded_at": Told("when the list of excluded devices was written that it has heard of last"),
    "Conditions.charging": Told("whether it charges"),
    "Conditions.network": Told("kind of its network"),
    "Conditions.idle": Told("whether somebody uses it"),
    "Conditions.temperature_c": Told("its temperature"),
    "Conditions.confirmed": Told("which of these its owner said, since nothing on the device tells them"),
    "Reason.code": Told("why it does not train, gives something back or refuses it, as a code"),
    "Reason.sentence": Told("the same as a sentence"),
    "Progress.assignment": Told("which assignment it works on"),
    "Progress.stage": Told("whether it trains, waits or uploads"),
    "Progress.steps_done": Told("steps done, from which samples can be estimated", masked="not sent"),
    "Progress.steps_total": Told("steps to do, from which samples can be estimated", masked="not sent"),
    "Latency.version": Told("model version that was measured last", masked="not sent"),
    "Latency.work": Told("whether a train step or a prediction was measured", masked="not sent"),
    "Latency.form": Told("which form of the version", masked="not sent"),
    "Latency.charging": Told("whether it charged meanwhile", masked="not sent"),
    "Latency.hottest_c": Told("how hot it was at most", masked="not sent"),
    "Histogram.counts": Told("how long a train step or a prediction takes, as shares of a thousand", masked="not sent"),
    # What it tells of its data.
    "DataMetadata.samples": Told("number of its samples", masked="not sent"),
    "DataMetadata.class_counts": Told(
        "number of its samples of each class; not sent where the plan's help has noise", masked="not sent"
    ),
    "LabelFacts.asked": Told("samples that its owner has labelled when asked", masked="not sent"),
    "LabelFacts.implied": Told("samples that a program on it has labelled", masked="not sent"),
    "LabelFacts.unlabelled": Told("samples without a label", masked="not sent"),
    "LabelFacts.questions": Told("questions about labels that its owner was asked", masked="not sent"),
    "LabelFacts.answers": Told("how many of these were answered", masked="not sent"),
    # An update.
    "update: parameters": Told("what training changed", "noise", "summed"),
    "update: running statistics": Told("means and variances of its activations", "clear", "summed"),
    "update: numbers of the algorithm": Told("what some kinds of `local` send beside parameters", "not sent", "summed"),
    "OfferUpdate.assignment": Told("which assignment it answers", masked="not sent"),
    "OfferUpdate.sha256": Told("hash of the file", masked="not sent"),
    "OfferUpdate.size_bytes": Told("size of the file", masked="not sent"),
    "OfferUpdate.samples": Told("samples that it was made of", masked="summed"),
    "OfferUpdate.steps_done": Told("steps that it was made in", masked="not sent"),
    "OfferUpdate.steps_total": Told("steps that were to be done", masked="not sent"),
    "OfferUpdate.loss_before": Told("loss of the version on its samples", masked="summed"),
    "OfferUpdate.loss_after": Told("loss after training", masked="summed"),
    "OfferUpdate.accuracy_before": Told("accuracy of the version on samples held out", masked="summed"),
    "OfferUpdate.train_s": Told("seconds of training", masked="not sent"),
    "OfferUpdate.classes": Told(
        "classes that it has samples of, where a plan customises the output layer", "not sent", "not sent"
    ),
    "OfferUpdate.train_memory_bytes": Told("memory of the agent while it trained", masked="not sent"),
    "OfferUpdate.suspects": Told("peers whose models lay far off at meetings with it", masked="not sent"),
    "ReleaseAssignment.assignment": Told("which assignment it gives back"),
    # An update that goes to a neighbour, which reads it, and from there in a sum: only under topology `supernodes`.
    "HandIn.assignment": Told("which assignment it answers", masked="not sent"),
    "SignedReceipt.receipt": Told(
        "a neighbour's word that it has the update, or the sum: its hash, and the norm or the hash of what is in it",
        masked="not sent",
    ),
    "SignedReceipt.signature": Told("signature of that", masked="not sent"),
    "HandIn.fingerprint": Told("two numbers to check the neighbour's sum with", masked="not sent"),
    "HandIn.tier_fingerprints": Told("numbers to check sums of sums with", masked="not sent"),
    "HandInSum.fold": Told("which sum another supernode has of it", masked="not sent"),
    "OfferPartial.fold": Told("which sum it sends", masked="not sent"),
    "OfferPartial.sha256": Told("hash of the sum", masked="not sent"),
    "OfferPartial.size_bytes": Told("size of the sum", masked="not sent"),
    "partial aggregate": Told("the sum of its neighbours' updates", "noise", "not sent"),
    # What goes to peers, not to the platform, which reads none of it: only under topology `gossip`.
    "model among peers": Told("its model and how many samples it has, which peers read", "not sent", "not sent"),
    "signal": Told("where it may be reached, sealed for a peer; who passes it on does not read it"),
    # What goes to other devices alone, where its owner lets it find them, or be found, without the platform.
    "address record": Told("its name at the platform, its public key, and the addresses that it answers at"),
    "announcement": Told("its public key, its port and its addresses, to whoever is on its local network"),
    "question for an address": Told("its name, its public key, and whose address or which neighbours it looks for"),
    # What supernodes of one neighbourhood tell each other while the platform is away.
    "roles of an island": Told("its name, who of them leads, and which of them holds which assignment's update"),
    # A secure sum.
    "ReadLog.identity": Told("public key that it signs with"),
    "ReadLog.known": Told("entries of the log of identities that it has read"),
    "AskSum.assignment": Told("which assignment it is summed for"),
    "JoinSum.assignment": Told("which assignment it is summed for"),
    "Member.device": Told("its identity"),
    "Member.identity": Told("public key that it signs with"),
    "Member.mask": Told("public key of its masks in one sum"),
    "Member.channel": Told("public key of its boxes in one sum"),
    "Member.commitment": Told("hash of the seed of its own mask"),
    "Member.signature": Told("signature of these keys"),
    "ShareSecrets.assignment": Told("which assignment it is summed for"),
    "Box.sender": Told("its place in the list"),
    "Box.to": Told("place of the device that the box is for"),
    "Box.content": Told("shares of its secrets, which only that device can read"),
    "OfferMasked.assignment": Told("which assignment it is summed for"),
    "OfferMasked.sha256": Told("hash of the masked vector"),
    "OfferMasked.size_bytes": Told("size of the masked vector, the same for all"),
    "masked vector": Told("numbers that nobody can tell from random ones before they are summed with others'"),
    "RevealShares.assignment": Told("which assignment it is summed for"),
    "Share.owner": Told("place of the device that the share is of"),
    "Share.of": Told("whether that device delivered"),
    "Share.share": Told("a share of one secret of that device, never of both"),
    # An answer to a question: the same messages and masked vector, of counts and, where asked for, its share of noise.
    "answer": Told("what it counts of itself, which is read only as a sum over devices", "summed", "summed"),
    # Help between devices, which privacy kinds refuse.
    "ReportProfile.federation": Told("federation", "not sent", "not sent"),
    "Profile.batch": Told("batches seen", "not sent", "not sent"),
    "Profile.classes": Told(
        "classes among its latest batches; those that stand out from the noise where there is any",
        "not sent",
        "not sent",
    ),
    "Profile.counts": Told(
        "samples of each; rounded or left out where the owner wants it, with noise where the plan's help has any",
        "not sent",
        "not sent",
    ),
    "Profile.hits": Told(
        "how many of each were predicted rightly, with noise where the plan's help has any", "not sent", "not sent"
    ),
    "Profile.drifting": Told("whether its model fails it, without noise", "not sent", "not sent"),
    "Profile.willing": Told("whether its owner lets it help", "not sent", "not sent"),
    "SampleNoise.epsilon": Told("what its noise leaves to be learned of one sample", "not sent", "not sent"),
    "SampleNoise.delta": Told("the delta of that, which its owner has set", "not sent", "not sent"),
    "AskHelp.request": Told(
        "number of a help request, and by when it comes that its model fails, without noise", "not sent", "not sent"
    ),
    "AskHelp.federation": Told("federation", "not sent", "not sent"),
    "AskHelp.classes": Told(
        "classes that its model fails on, by what its profile tells where that has noise", "not sent", "not sent"
    ),
    "WithdrawHelp.request": Told(
        "number of a help request, and that its model no longer fails, without noise", "not sent", "not sent"
    ),
    "OfferPortion.transfer": Told("which transfer it serves", "not sent", "not sent"),
    "OfferPortion.sha256": Told("hash of a portion", "not sent", "not sent"),
    "OfferPortion.size_bytes": Told("size of a portion", "not sent", "not sent"),
    "portion": Told("a part of its own model", "not sent", "not sent"),
    "DeclineTransfer.transfer": Told("which transfer it declines", "not sent", "not sent"),
    "ReportReceived.transfer": Told("which transfer it fetches from the helper itself", "not sent", "not sent"),
    # What it tells another device, sealed, so as to meet it by a direct path.
    "SendSignal.path": Told("random name of a direct path"),
    "SendSignal.to": Told("which device it would meet"),
    "SendSignal.sealed": Told("where it may be reached, sealed for that device; the platform does not read it"),
    "ReportMerged.transfer": Told("which transfer it has merged", "not sent", "not sent"),
    "GiveVerdict.transfer": Told("which transfer it judged", "not sent", "not sent"),
    "GiveVerdict.kept": Told("whether it kept what it merged", "not sent", "not sent"),
    "GiveVerdict.accuracy_before": Told(
        "accuracy of its own model before, on its newest samples, without noise", "not sent", "not sent"
    ),
    "GiveVerdict.accuracy_after": Told(
        "accuracy of its own model after, on the same, without noise", "not sent", "not sent"
    ),
    "GiveVerdict.samples": Told("samples judged on", "not sent", "not sent"),
    # Samples themselves, which go to the platform for an answer only where the plan and the device's owner allow it.
    "AskPlatform.federation": Told("federation whose model is to answer", "not sent", "not sent"),
    "AskPlatform.samples": Told("the samples that are to be answered, as they are", "not sent", "not sent"),
    "AskPlatform.remaining_s": Told("how long it waits for the answer", "not sent", "not sent"),
    # Its log, which goes to the platform only where its owner allows a request of an operator, and is a receipt.
    "ReportLog.request": Told("which request for its log it tells about"),
    "ReportLog.outcome": Told("whether its owner allows that its log is sent"),
    "DeliverLog.request": Told("which request its log is for"),
    "LogLine.at": Told("when its agent logged a line"),
    "LogLine.level": Told("how serious that line is"),
    "LogLine.source": Told("which part of its agent wrote it"),
    "LogLine.text": Told(
        "what it logged, without secrets, samples and their number, and without any figure under secure aggregation"
    ),
    "DeliverLog.left_out": Told("how many older lines are left out"),
    # What its owner asks.
    "ReadExport.section": Told("which part of what the platform knows of it its owner reads"),
    "ReadExport.after": Told("how far its owner has read"),
    "Forget.receipt": Told("number that its owner reads the receipt by, once it is forgotten"),
    "ReadReceipt.receipt": Told("the same"),
    # Trials of versions, and personal models.
    "ReportTrial.rollout": Told("which roll-out it tries"),
    "ReportEvaluation.evaluation": Told("which federated evaluation it answers", masked="not sent"),
    "ReportEvaluation.samples": Told("samples that a version was evaluated on", masked="not sent"),
    "Compared.samples": Told("samples compared on", masked="not sent"),
    "Fit.loss": Told("loss of a version on its samples", masked="not sent"),
    "Fit.accuracy": Told("accuracy of a version on its samples", masked="not sent"),
    "Shadowed.agreement": Told("how often a version answers programs on it as the one in use does", masked="not sent"),
    "JoinAlliance.alliance": Told("which alliance its owner agrees to"),
    "JoinAlliance.key": Told("public key that its letters are sealed with"),
    "JoinAlliance.partner": Told("public key of the other party that its owner agrees to"),
    "JoinAlliance.people": Told("how many people its table has"),
    "JoinAlliance.columns": Told("how many columns its table has"),
    "ExchangeLetters.alliance": Told("which alliance its letters are of"),
    "ExchangeLetters.first": Told("number of a letter"),
    "ExchangeLetters.letters": Told("points, values and gradients for the other party, which only that one can read"),
    "ExchangeLetters.received": Told("letters of the other party that it has taken"),
    "ExchangeLetters.ended": Told("whether it has finished, or cannot go on"),
    "AllianceFigures.common": Told("how many people both parties know"),
    "AllianceFigures.epoch": Told("epochs that have ended"),
    "AllianceFigures.loss": Told("loss of the latest epoch, over all people"),
    "AllianceFigures.accuracy": Told("accuracy on all people held out"),
    "AllianceFigures.alone": Told("the same without the other party"),
    "ReportPersonal.federation": Told("federation", masked="not sent"),
    "ReportPersonal.version": Told("version that it held", masked="not sent"),
    "ReportPersonal.answers": Told("whether its personal model answers its owner", masked="not sent"),
    "ReportPersonal.samples": Told("samples compared on; rounded where the owner wants it", masked="not sent"),
    "ReportPersonal.version_accuracy": Told("accuracy of the version on its samples", masked="not sent"),
    "ReportPersonal.own_accuracy": Told("accuracy of its personal model", masked="not sent"),
}
"""By ``STRUCT.FIELD`` of the wire, or by the name of a file."""
