"""The pods' network: addresses, names, the way out, and the process that holds it all."""
