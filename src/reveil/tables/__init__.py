"""Raw tables: reading them strictly, what each column is, hierarchies, notation, expressions, profiles."""
