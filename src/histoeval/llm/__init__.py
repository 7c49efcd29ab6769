"""Language models: the chat client, its cache, rate limit, keys and replies."""
