"""The storage of the API server: durable in SQLite, served from memory, with a watch on every change.

    put, delete ──► accepted in the loop (revision assigned, head moves) ──► the writer's thread commits a group
                                                                                    │
    get, list, watch ◄── index (state) and change logs (recent changes) ◄── published in the loop

Readers and watches see durable states only. Writes build on the head. Changes older than the change logs are read from the file.
"""
