"""How work is executed: chunks, resume, totals."""
