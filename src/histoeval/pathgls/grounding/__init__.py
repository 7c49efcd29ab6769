"""Grounding: is what the report claims visible in the image?"""
