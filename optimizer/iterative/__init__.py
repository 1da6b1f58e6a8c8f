"""The iterative driver: one queue of rule matches by importance, over the same memo, goals and ways as the task stack."""
