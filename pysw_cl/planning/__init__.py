"""Plans: what a job runs on, their geometry, cost models and parameters."""
