"""What models run on: ONNX sessions, Transformers models, batching, caching, threads."""
