"""Streams between clients and containers: logs, exec, attach, port-forward.

`kubelet` serves them for whatever implements `containers.Containers`, over SPDY/3.1 and WebSockets; `tunnel` passes them on from
the API server to a kubelet, and `location` is what the API server decides about a pod's log or exec by itself.
"""
