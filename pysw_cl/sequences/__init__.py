"""Letters: alphabets, FASTA, ranges and strands."""

from .sequence import Sequence as Sequence
from .sequence import read_fasta as read_fasta
