"""The vision-language model under test: an endpoint or a local model that describes images."""
