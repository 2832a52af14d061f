"""SQL text in, SQL text out: what the gateway understands of statements, in both dialects."""
