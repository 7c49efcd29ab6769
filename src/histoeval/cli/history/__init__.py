"""`histoeval runs` and `histoeval cache`: what earlier commands have left."""
