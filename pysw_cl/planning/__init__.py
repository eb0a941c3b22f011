"""What a job runs on: plans and their geometry."""
