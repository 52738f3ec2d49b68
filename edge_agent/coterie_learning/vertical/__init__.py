"""Vertical federated learning: two parties with different columns about the same people; protocol without I/O.

One party has the labels, and both have columns. They find the people whom both have (`intersection`), agree on an
order, and train a split network, with a lower half at each party and the upper half at the one with the labels
(`party`): Vepakomma et al., Split learning for health (2018), arXiv 1812.00564.
"""
