"""What leaves the building, and how it is read back: tables, manifests, files, releases of any tool."""
