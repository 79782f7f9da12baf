"""Create a demo study from bundled drawings, without any data of the user."""
