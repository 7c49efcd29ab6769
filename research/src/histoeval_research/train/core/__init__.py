"""What all trainings share: loop, checkpoints, cards, export, settings."""
