"""Jobs as they go on: copies kept by watches, logs of all replicas as they come, and the screen that both are shown on."""
