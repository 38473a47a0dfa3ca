"""Where the cluster's objects are kept: durable in SQLite, at hand in memory, each change told to whoever watches.

    put, delete ──► accepted in the loop (revision assigned, head moves) ──► journal's thread commits a group
                                                                                    │
    get, list, feeds ◄── shelves (state) and logs (recent changes) ◄── published in the loop

Readers and feeds see only what is durable; writers build on the head. Older changes than the logs hold are read from the file.
"""
