"""Errors in messages, bundles and updates, each a stable code with a sentence."""

from collections.abc import Mapping

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of decoding JSON from outside: wrong shape, not UTF-8, nested too deeply."""
MAX_DETAIL_CHARS = 400
"""Longest detail; a detail quotes content from outside, whose length its sender chooses."""

CODES: Mapping[str, str] = {
    "wire.malformed": "The message is not JSON, or not of the shape that the protocol gives it.",
    "wire.too_large": "The message is longer than a control message may be.",
    "wire.protocol": "The other side speaks a version of the protocol that this side does not; update the older one.",
    "plan.invalid": "A slot of the plan is missing, or a hyperparameter is unknown, of the wrong type or out of range.",
    "plan.no_head": "The plan customises the output layer; the model has none with a row and a bias for each class.",
    "plan.does_not_fit": "The plan asks for what the model's train step was compiled without, e.g. momentum.",
    "plan.unknown_kind": "The plan names a kind that this side does not have.",
    "recipe.invalid": "The recipe names a loss, an optimiser or a choice of what trains that is unknown or ill-formed.",
    "strategy.invalid": "The strategy of cloud training is unknown, or a setting of it is unknown or out of range.",
    "bundle.bad_signature": "The manifest was not signed by the platform that the device is enrolled with.",
    "bundle.malformed": "The signed manifest is not of the shape that the protocol gives it.",
    "bundle.protocol": "The manifest is written in a version of the protocol that this side does not speak.",
    "tensors.malformed": "The bytes are not a canonical safetensors file: truncated, padded, overlapping or repeated.",
    "tensors.wrong_shape": "The file holds other tensors than the model has, or other dtypes or shapes.",
    "tensors.not_finite": "A tensor holds NaN or infinity.",
    "arrays.malformed": "The file is not an NPZ archive of numbers as numpy.savez writes it.",
    "arrays.too_large": "The arrays unpack to more bytes than are read.",
    "portion.not_given": "The device has no portion of that transfer to give to the device that asks for it.",
    "paths.too_large": "A body on a direct path is longer than either side reads.",
    "paths.no_such_desk": "The device does not answer such questions over direct paths.",
    "update.malformed": "The update is not a canonical safetensors file: truncated, padded, overlapping or repeated.",
    "update.wrong_codec": "The update was encoded by another codec, or with other settings, than the plan asks.",
    "update.wrong_shape": "The update holds other tensors than the model has, or other shapes.",
    "update.wrong_classes": "The update names other classes than the plan lets it have rows of.",
    "update.not_finite": "The update holds NaN or infinity, or scales that could stand for them.",
    "update.out_of_range": "A parameter or a statistic of the update is too large to be summed with others exactly.",
    "update.damaged": "The stored update is no longer what was accepted, or can no longer be read.",
    "update.outlier": "The update is far larger than those of the other devices of its round.",
    "update.outvoted": "The update lies far from those of the other devices of its round, and the merge left it out.",
    "update.wrong_list": "The masked vector was made for another list of members, or for numbers of other bits.",
    "question.invalid": "The question counts what this side does not know, or a setting of it is out of range.",
    "secure_sum.malformed": "The list of members is not of the shape that the protocol gives it.",
    "secure_sum.wrong_list": "A member or a key is in the list twice, or other keys than it sent, or the list changed.",
    "secure_sum.wrong_signature": "The session keys of a member are not signed by the identity that the list names.",
    "secure_sum.other_log": "The log of identities is not as the device has read it before: it changed or shrank.",
    "secure_sum.unknown_identity": "A member's identity is not what the log of identities has for its device.",
    "secure_sum.wrong_key": "A public key is one that nobody can agree on a secret with.",
    "secure_sum.wrong_box": "A box of shares is missing, came twice, is of another than a neighbour or does not open.",
    "secure_sum.wrong_survivors": "The survivors are not what shares were revealed for, or not without this device.",
    "secure_sum.out_of_order": "A step of the secure sum was asked for before the one that it follows, or again.",
    "secure_sum.too_few": "Fewer devices take part, or have delivered, than the plan promises each of them.",
    "secure_sum.too_few_shared": "Too few neighbours hold shares of a device to recover the sum without it.",
    "secure_sum.too_few_shares": "Too few shares of a device were revealed to recover the sum.",
    "secure_sum.too_few_bits": "The numbers of the sum have too few bits for so many devices.",
    "secure_sum.wrong_share": "Shares that were revealed give another secret than the device published.",
    "secure_sum.wrong_sum": "The sum is of no vectors that such devices send: a device sent another than it was to.",
    "state.damaged": "What an algorithm remembers from round to round was changed on the disk; it is forgotten.",
    "kinds.failed": "The code of a kind of another package raised an error: mend it, or choose another kind.",
    "kinds.not_installed": "No distribution of that name that brings kinds is installed in this environment.",
    "kinds.not_writable": "The file that names the distributions that are signed off cannot be written.",
    "partial.malformed": "The file is not the sum that was asked for: of other tensors, or of other updates.",
    "partial.out_of_range": "The sum is larger than its updates can make it.",
    "partial.altered": "The sum is not that of the updates which its devices handed in.",
    "relay.malformed": "A message between two devices is not of the shape that the protocol gives it.",
    "alliance.terms": "A term of the alliance is unknown, of the wrong type or out of range.",
    "vertical.malformed": "A letter of the other party is not of the protocol's shape, or is not the next one.",
    "vertical.hostile_points": "A point of the other party is not of the group, comes twice, or is one too many.",
    "vertical.out_of_order": "A letter of the other party is not what it owes next.",
    "vertical.too_few": "Fewer people are known to both parties, or have a label, than the terms of the alliance need.",
    "relay.not_sealed": "A message between two devices was not sealed by the one for the other.",
    "relay.wrong_ticket": "The ticket is for another device, or has expired.",
    "relay.bad_receipt": "The receipt was not signed by the supernode of the update's route.",
    "meeting.not_a_peer": "A call came from a device that is not in the roster of the round, or for another device.",
    "meeting.repeated": "A call of a peer came once more: somebody sends again what was recorded on the network.",
    "meeting.expired": "The roster of the round has expired: nobody meets under it any more.",
    "discovery.bad_signature": "A record of addresses was not signed by the device that its ticket names.",
    "discovery.malformed": "A record of addresses has none, or not the shape that the protocol gives it.",
    "discovery.expired": "A ticket or a record of addresses has expired; it holds for a day at most.",
    "discovery.excluded": "The platform has excluded the device: it was revoked, has left, or is in quarantine.",
    "discovery.not_own": "A device brought another one's record of addresses; each may bring its own alone.",
    "island.expired": "The round whose neighbourhood was cut off from the platform has ended.",
    "island.not_a_voter": "A device called that is no voter of an island, or of another one than the called device.",
    "island.not_for_me": "What a voter of an island sent is for another device, another island or another question.",
    "portion.unsupported": "The model has no parts of the kind that the plan lets helpers send.",
    "portion.malformed": "The portion does not hold whole trees over the model's features and classes.",
    "portion.unknown_class": "The classes that help is asked for are not some of the model's, each once and in order.",
}
"""The meaning of each WireError code."""


class WireError(Exception):
    """Received content that breaks the contract.

    `code` is stable and documented, e.g. ``wire.malformed``; `detail` is a sentence that states what was received and
    what was expected.
    """

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail if len(detail) <= MAX_DETAIL_CHARS else detail[: MAX_DETAIL_CHARS - 1] + "…"
        super().__init__(self.detail)
