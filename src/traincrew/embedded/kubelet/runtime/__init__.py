"""The processes of a pod: what is asked for (spec), who runs it (template, shim, init), and how to reach them (client)."""
