"""Directory trees that pods have written: of any depth, with any names, and perhaps changed meanwhile.

Only descriptors are used. A path of such a tree may be longer than the kernel accepts, and may lead elsewhere a moment later.
The template process imports this package, so it uses the standard library only.
"""
