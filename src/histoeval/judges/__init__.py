"""LLM judges: language models that score pairs of reports by a rubric, read strictly."""
