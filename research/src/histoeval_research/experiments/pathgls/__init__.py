"""Tables 1 to 3 and figure 3 of the PathGLS paper, beside what is measured here."""
