"""Agreement of metrics and judges with experts, with statistics that fit the data."""
