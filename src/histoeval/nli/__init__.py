"""Natural language inference: does one statement entail, contradict or leave open another?"""
