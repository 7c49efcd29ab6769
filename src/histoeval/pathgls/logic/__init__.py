"""Logic: does the report contradict itself?"""
