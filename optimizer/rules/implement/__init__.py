"""Implementation rules: physical operators that compute a logical one over the same inputs."""
