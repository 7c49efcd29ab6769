"""Annotated passages as the tools of annotators write them: one file per format."""
