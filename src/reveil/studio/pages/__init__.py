"""The pages, one file for each way through the studio: they read, show forms and start jobs, and do nothing else."""
