"""What all values together add to predicting the label beyond all true concepts."""
