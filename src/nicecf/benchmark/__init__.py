"""The paper's experiment: datasets, models, methods, runs and their report."""
