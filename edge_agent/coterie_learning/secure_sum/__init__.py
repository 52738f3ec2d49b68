"""Secure aggregation: the sum of devices' vectors, none of which can be read individually.

Bonawitz et al. 2017, doi 10.1145/3133956.3133982, with the neighbourhoods of Bell et al. 2020, doi
10.1145/3372297.3417885. Without I/O: `party` is the device's part and `recovery` the platform's.
"""
