"""Turn a run into one page, figures and exports."""
