"""What a study asks, as data: blocks of questions, their order and conditions. Nothing is read."""
