"""The page of a score run: errors first, then means, distributions, systems and every pair."""
