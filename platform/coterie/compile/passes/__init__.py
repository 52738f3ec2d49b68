"""Rewritings of a program that leave its results as they are and make its train step faster: one idea a module."""
