"""Letters: alphabets, files of sequences, ranges and strands."""
