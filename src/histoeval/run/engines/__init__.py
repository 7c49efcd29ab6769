"""Engines that run a job: this process, all cores of this machine, or a Ray cluster."""
