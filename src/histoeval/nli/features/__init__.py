"""Rule-based features of a premise and a hypothesis, for the re-ranker of the NLI network."""
