"""Runtime of models: ONNX sessions, Transformers models, batching, caching, threads."""
