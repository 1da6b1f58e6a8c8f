"""The command line, built-in workloads and experiments."""
