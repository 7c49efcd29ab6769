"""Systems side by side: which writes better, and whether a new one may replace a baseline."""
