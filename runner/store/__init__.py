"""The results tables: schema, append, query."""
