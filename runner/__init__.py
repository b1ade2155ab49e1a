"""Studies on tabular machine learning, spread over a Ray cluster."""
