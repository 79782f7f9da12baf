"""Draw figures by one grammar: strips, bars, lines, points and grids."""
