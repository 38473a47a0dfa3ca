"""The console: a web server on one machine that shows, creates and changes jobs. It is a client of the Kubernetes API."""
