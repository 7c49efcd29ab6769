"""A worker process."""

from histoeval.run.engines.serve import main

main()
