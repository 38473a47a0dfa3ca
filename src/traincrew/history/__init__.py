"""History of jobs: a recorder that is a client of the Kubernetes API, and a store that outlives the jobs."""
