"""Clustering of models by their outputs for the same samples: distances, affinity propagation, silhouettes."""
