"""Gradients are sent in pieces, those first that the next forward pass needs first, while it computes.

Peng et al. 2019, "A generic communication scheduler for distributed DNN training acceleration" (SOSP), ByteScheduler:
tensors are cut, pieces have the priority of their layer, and few of them are in flight at a time, so that a later piece
can overtake those that wait.
"""
