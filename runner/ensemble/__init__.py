"""Ensemble techniques on stored predictions, and the simulation that compares them."""

from runner.ensemble.technique import Answer, Oracle, Part, Technique

__all__ = ["Answer", "Oracle", "Part", "Technique"]
