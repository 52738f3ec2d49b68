"""Needs of customers whom a bank and an insurer both know: one has half of the columns, the other the rest and labels.

No federation of devices that each have whole samples, and so no `Recipe`: an alliance of two parties
(`docs/how-to/recipes/two-parties.md`).
"""
