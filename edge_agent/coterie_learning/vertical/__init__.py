"""Two parties with different columns about the same people: what they say to one another, without any input or output.

One party has the labels, and both have columns. They find the people whom both know (`intersection`), put them in one
order, and train a network whose lower half is at either party and whose upper half is at the one with the labels
(`party`): Vepakomma et al., Split learning for health (2018), arXiv 1812.00564.
"""
