"""Notifies people when something is wrong, once, and again when it is over: rules, channels, and the log of notices."""
