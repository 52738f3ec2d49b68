"""Real platforms and real agents."""
