"""Experts' scores collected in the browser: the plan of a study, its ratings, its pages."""
