"""The container runtime. It plays the part of containerd and runc behind a CRI-like interface.

`spec` says what to run. The kubelet uses `client` to ask the template process for shims, and the shims for containers. A `shim`
serves one pod, outlives the kubelet, and starts `container` processes in their `rootfs` and `cgroups`.
"""
