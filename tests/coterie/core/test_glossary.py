"""The glossary can be looked things up in: in order, each word once, each explained by a sentence."""

from coterie.core.glossary import GLOSSARY


def test_terms_stand_in_order_and_once() -> None:
    names = [term.name for term in GLOSSARY]
    assert names == sorted(set(names))


def test_each_meaning_is_a_sentence() -> None:
    assert [term.name for term in GLOSSARY if not (term.meaning[0].isupper() and term.meaning.endswith("."))] == []
