"""Programs that run inside pods, in an interpreter of their own: they know the standard library and their neighbours only."""
