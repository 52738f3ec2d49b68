"""Devices that help one another (Cartel): their profiles, their help requests, and the transfers that answer them."""
