"""A worker process."""

from histoeval.run.engines.worker import main

main()
