"""The command line of planscope, built-in workloads and experiments."""
