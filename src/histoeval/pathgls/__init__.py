"""Can a report be trusted when there is no reference? PathGLS: grounding, logic, stability."""
