"""Rule-based features that keep opposites apart: side, polarity, grade, stage, markers."""
