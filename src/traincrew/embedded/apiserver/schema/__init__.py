"""What objects look like: the schemas of the built-in kinds, custom resources and their definitions, and reading by schema."""
