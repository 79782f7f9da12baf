"""Execute tasks in this process, in many, or on Ray, with checkpoints."""
