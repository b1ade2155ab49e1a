"""Measurements, side by side where there is a peer; RESULTS.md has the figures."""
