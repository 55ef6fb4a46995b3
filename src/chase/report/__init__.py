"""What is known of a run, put on pages: facts, tables, figures, one self-contained HTML file."""
