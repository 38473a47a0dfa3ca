"""The controllers that clients of a cluster count on, each a plain client of the API."""
