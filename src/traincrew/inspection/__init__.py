"""Jobs as users see them: a job with its pods, why it waits or failed, its logs. Shared by the CLI and the console."""
