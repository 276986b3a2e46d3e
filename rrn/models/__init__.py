"""Models as their weights files hold them: made again, exported as SavedModels, published."""

from rrn.models.saved import describe, load, naming, saved_data, saved_model, saved_task, summary

__all__ = ["describe", "load", "naming", "saved_data", "saved_model", "saved_task", "summary"]
