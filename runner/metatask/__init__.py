"""Metatasks: tasks with the stored predictions of many models."""

from runner.metatask.metatask import Finding, Metatask, Model, Stored

__all__ = ["Finding", "Metatask", "Model", "Stored"]
