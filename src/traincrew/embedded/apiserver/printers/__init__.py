"""Server-side printing: tables and partial metadata."""
