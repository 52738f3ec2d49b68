"""Clustering of models by what they say about the same samples: distances, affinity propagation, silhouettes."""
