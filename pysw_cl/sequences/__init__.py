"""Letters: alphabets, files of sequences, ranges and strands."""

from .reading import read_fasta as read_fasta, read_sequences as read_sequences
from .sequence import Sequence as Sequence, reverse_complement as reverse_complement
