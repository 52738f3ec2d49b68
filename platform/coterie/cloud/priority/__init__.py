"""Gradients travel in pieces, those first that the next forward pass needs first, while it computes.

Peng et al. 2019, "A generic communication scheduler for distributed DNN training acceleration" (SOSP), ByteScheduler:
tensors are cut, pieces have the priority of their layer, and few of them are on their way at a time, so that one which
comes later can go before those that wait.
"""
