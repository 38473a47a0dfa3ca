"""Programs that run inside pods with any interpreter. They import the standard library and each other only."""
