"""Stores: where the relations of a vault lie. Each is a module of its own, found by the scheme of its address."""
