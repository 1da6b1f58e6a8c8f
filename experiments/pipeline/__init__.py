"""The data pipeline: generate, import, analyze, sweep and report, as Spark jobs."""
