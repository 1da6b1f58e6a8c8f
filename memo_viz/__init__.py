"""Pictures of memos and plans, made from traces alone."""
