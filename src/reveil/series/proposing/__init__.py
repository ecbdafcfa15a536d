"""Before the first release: which guarantee a table and its releases ask for, what it costs, and the config for it."""
