"""What a report says: diagnoses, findings, markers, negation and scope."""
