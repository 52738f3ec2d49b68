"""The meanings of this project's words: the one source for docs, REST API and console."""

from typing import NamedTuple


class Term(NamedTuple):
    """A word, as it is used everywhere: code, API, console and docs."""

    name: str
    meaning: str


GLOSSARY = (
    Term(
        "address record",
        "Where a device answers other devices, signed by it and kept by them for a day at most.",
    ),
    Term(
        "alert",
        "What a rule has found: it fires once, the rule's channels are told, and it ends by itself when it is over.",
    ),
    Term("assignment", "The part of one device in one cohort: train from this version, deliver by then."),
    Term(
        "buffer",
        "The updates that an asynchronous round has taken and not merged yet; full, it is merged, and the next begins.",
    ),
    Term("bundle", "What a device downloads: a signed manifest, graphs and parameters, each addressed by its SHA-256."),
    Term("canary", "A roll-out that a small group of devices tries before every device gets the version."),
    Term(
        "champion",
        "The version of a lineage that devices use now; it changes when one is published or rolled back.",
    ),
    Term("channel", "Where people are told of alerts: addresses of e-mail, a room of Slack or Teams, or a webhook."),
    Term("cohort", "The devices that take part in one round."),
    Term("conditions", "What is true on a device now: charging, network, idle, temperature, hours."),
    Term(
        "cross-entropy gap",
        "How much a model's cross-entropy against a target distribution exceeds that distribution's own entropy, "
        "in nats; 0 where both agree.",
    ),
    Term("device", "One enrolled edge agent."),
    Term("device state", "What an algorithm remembers on a device from round to round, such as a residual."),
    Term(
        "epsilon, delta",
        "With and without a device, likelihoods of all that is seen differ by e^epsilon at most, "
        "but with probability delta.",
    ),
    Term("fallback", "What answers a program where the model on its device does not: a last answer, or the platform."),
    Term(
        "federated evaluation",
        "A sample of devices measures a version on samples that they hold out from training, and tells figures alone.",
    ),
    Term("federation", "A set of devices that learn one task together, under one plan."),
    Term("fleet", "The devices of one organisation."),
    Term(
        "forecast",
        "What a round is expected to take, from what the fleet did before; compared with what happens.",
    ),
    Term("gang", "The workers of one training job in the cloud: all of them have their places on hosts, or none."),
    Term("group", "Devices that share one lineage after a split."),
    Term("held-out data", "Samples that no model was trained on, by which versions are compared."),
    Term("help request", "A device whose model fails after a drift of its data asks for help."),
    Term("host", "A machine on which a Celery worker runs; it takes as many workers of gangs as it has places."),
    Term(
        "island",
        "Supernodes of a site that is cut off; three of them agree on who takes waiting updates and who has which.",
    ),
    Term("kind", "One algorithm that can fill a slot of a plan, with its hyperparameters."),
    Term(
        "lineage",
        "Versions that follow from one another. Each group has a lineage of its own; so may a federation.",
    ),
    Term("local training", "Training between rounds, on new samples, without an assignment."),
    Term("misfit", "Why a kind cannot work with a plan, a model or a fleet; the kind says so itself."),
    Term(
        "model pair",
        "The cloud base model (large, the teacher) and the device model (small, the student) of a federation.",
    ),
    Term("model version", "One immutable set of parameters."),
    Term("operator", "A person who runs the platform, with a role that says what they may do."),
    Term("organisation", "Has projects; a role in it holds in all of them."),
    Term("owner", "The person whose device it is; not the operator."),
    Term("partial aggregate", "The exact weighted sum of some of a round's updates, formed on their way."),
    Term("peers", "The devices with which a device exchanges portions of models, or models."),
    Term(
        "personal model",
        "A device's own parameters, where a plan lets it keep them between rounds, or train them beside the version.",
    ),
    Term("plan", "What a federation does, as data: one kind in each slot."),
    Term("policy", "What the plan and the owner ask of the conditions; the owner's can only be stricter."),
    Term("portion", "The part of a helper's model that goes to the device that asked."),
    Term("preset", "A published system as a plan: a file of kinds."),
    Term(
        "privacy budget",
        "How much may be told, in all, of a device by one federation or by all of them, as epsilon at a delta.",
    ),
    Term(
        "profile", "What a device tells of its data, never the data: class priors, error overall and per class, counts."
    ),
    Term("project", "What is kept apart: who acts in one sees no devices, models, federations or figures of another."),
    Term(
        "question",
        "What a fleet is asked about itself; devices count, and only the sum of all counts is read.",
    ),
    Term(
        "quiet hours",
        "Hours in which a channel is told nothing; what fires meanwhile is held and told together afterwards.",
    ),
    Term(
        "recipe",
        "A task ready to run: made-up people, the reader of a real format, a pair, a plan, figures to expect.",
    ),
    Term(
        "release",
        "What is made known under noise: a sum of updates, or one update; every one is charged to the devices in it.",
    ),
    Term("repair", "A fault that is there now, with what to do about it; it is muted, or goes when it is mended."),
    Term("residual", "What a codec lost of an update; it is added to the device's next update (error feedback)."),
    Term("round", "One collection of updates that ends in a new version, or is abandoned with a reason."),
    Term("rule", "What is watched for, a fault or a figure and its threshold, and which channels are told of it."),
    Term("running statistics", "Means and variances that normalisation layers gather while they train."),
    Term(
        "server state", "What a merge remembers from round to round, stored beside a version and rolled back with it."
    ),
    Term("shadow", "A candidate that answers on devices of a canary group beside the champion, without being shown."),
    Term("slot", "A question that a plan answers, such as how an update travels."),
    Term("split", "The division of a federation's devices into groups."),
    Term("staleness", "By how many versions the one that an update began with is older than the one it is added to."),
    Term("step scalars", "The scalar inputs of one train step: learning rate, momentum, proximal weight and the like."),
    Term(
        "stream of releases",
        "Releases of a federation under noise that depends on that of those before; a device rests between two parts.",
    ),
    Term("supernode", "A device that sums its neighbours' updates and sends the platform their partial aggregate."),
    Term(
        "table of devices",
        "A distributed hash table (Kademlia) among devices: by it they find one another without the platform.",
    ),
    Term(
        "teacher probabilities",
        "What the cloud model predicts for a device's samples, by which the device model learns too.",
    ),
    Term("train step", "One optimisation step of the device model (forward, loss, backward, update) as an ONNX graph."),
    Term("transfer", "A portion on its way from a helper to the device that asked."),
    Term(
        "troubled class",
        "A class that a device's model recognises much more rarely than before, as the plan's `troubled_recall` says.",
    ),
    Term("twin", "A fleet's own past, with which rounds of any plan can be held again."),
    Term(
        "update",
        "What a device uploads: the encoded difference of its parameters, what its algorithm sends besides, its sample "
        "count and its metrics.",
    ),
)
"""In the order of their names."""
