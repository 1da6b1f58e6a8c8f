"""Join ordering apart from the memo: graphs of relations, their partitions, conflict detection, and oracles to compare with."""
