"""Programs as files that run without the tracer."""
