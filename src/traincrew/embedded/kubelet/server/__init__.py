"""Streams between clients and containers: logs, exec, attach, port-forward.

`server` serves them over SPDY/3.1 and WebSockets, for any `streaming.StreamingRuntime`.
"""
