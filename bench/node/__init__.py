"""Pods as processes: how soon they start, what they cost, and what `traincrew run` adds to a framework's own launcher."""
