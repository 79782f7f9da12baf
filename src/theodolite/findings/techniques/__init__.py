"""Many techniques under the votes of people: the benchmark of paper 004."""
