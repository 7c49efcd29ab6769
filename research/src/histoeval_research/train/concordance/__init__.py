"""Fitting the weights of concordance to expert scores."""
