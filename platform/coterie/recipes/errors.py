"""Errors of recipes."""

from coterie.core.errors import CoterieError, ErrorKind


class UnknownRecipe(CoterieError):
    """Fields: name, nearest, known."""

    code = "recipes.unknown"
    kind = ErrorKind.INVALID
    sentence = "There is no recipe {name!r}, the nearest is {nearest!r}; there are {known}."


class UnreadableUserData(CoterieError):
    """Fields: detail."""

    code = "recipes.unreadable_data"
    kind = ErrorKind.INVALID
    sentence = "The data cannot be used: {detail}."


class TooFewPeople(CoterieError):
    """Fields: people, needed, samples."""

    code = "recipes.too_few_people"
    kind = ErrorKind.INVALID
    sentence = "{people} people have {samples} samples or more to train on; bring data of {needed} at least."


class DirectoryExists(CoterieError):
    """Fields: path."""

    code = "recipes.directory_exists"
    kind = ErrorKind.CONFLICT
    sentence = "{path} is there already; name a directory that is not."
