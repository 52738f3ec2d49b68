"""What can go wrong with alerts."""

from coterie.core.errors import CoterieError, ErrorKind


class ChannelNameTaken(CoterieError):
    """Fields: name."""

    code = "alerts.channel_name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is a channel {name!r} already; choose another name."


class RuleNameTaken(CoterieError):
    """Fields: name."""

    code = "alerts.rule_name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is a rule {name!r} already; choose another name."


class NoMailServer(CoterieError):
    """The platform was given none."""

    code = "alerts.no_mail_server"
    kind = ErrorKind.CONFLICT
    sentence = "The platform has no mail server: set COTERIE_EMAIL_HOST and COTERIE_EMAIL_FROM, then start it again."


class BadChannel(CoterieError):
    """Fields: problem."""

    code = "alerts.bad_channel"
    kind = ErrorKind.INVALID
    sentence = "The channel cannot be like that: {problem}."


class BadRule(CoterieError):
    """Fields: problem."""

    code = "alerts.bad_rule"
    kind = ErrorKind.INVALID
    sentence = "The rule cannot be like that: {problem}."


class ChannelInUse(CoterieError):
    """Fields: name, rules."""

    code = "alerts.channel_in_use"
    kind = ErrorKind.CONFLICT
    sentence = "Rules tell {name}: {rules}. Have them tell another channel first, or remove them."


class ChannelPaused(CoterieError):
    """Fields: name."""

    code = "alerts.channel_paused"
    kind = ErrorKind.CONFLICT
    sentence = "{name} is paused; resume it first."
