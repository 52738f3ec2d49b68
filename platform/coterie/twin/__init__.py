"""The digital twin: forecasts of rounds and of other plans, from a fleet's history."""
