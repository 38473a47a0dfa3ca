"""Why a job failed or hangs, from what its replicas printed and did. Pure: nothing here reads a clock, a file or the network."""
