"""What users call for files of sequences that they write: ``write_sequences``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from ..errors import InputError, choice, is_iterable, printable, shown, whole_number
from ..results.formats import PACKED
from ..results.formats.fasta import WIDTH, folded
from ..results.formats.files import written
from ..sequences.alphabet import PIECE
from ..sequences.sequence import Sequence, as_sequence, check_letters
from .files import Place, place_of

#: The formats, and the ends of the names of their files.
_ENDS = {"fasta": (".fa", ".fasta", ".fna", ".ffn", ".faa"), "fastq": (".fq", ".fastq")}


def write_sequences(
    sequences: Iterable[Any], path: Place, format: str | None = None, *, width: int = WIDTH
) -> None:
    """Write sequences into a FASTA or FASTQ file, which `read_sequences` reads.

    Parameters
    ----------
    sequences : iterable of sequences
        Whatever `align` takes, one by one as they come, or one alone.  One without a name has its
        number, from 1.  In names blanks become _ and control characters what URLs have for them.
    path : str, path or text stream
        Where to, as for `write`; a file that ends with .gz, .bz2, .xz or .zst is compressed.
    format : "fasta" or "fastq", optional
        By default what the end of the file's name says.  FASTQ needs `Sequence.quality`.
    width : int, optional
        Letters on a line of FASTA.

    Raises
    ------
    InputError
        For what is no sequence or cannot be in such a file; it says which one.
    FileError
        If the file cannot be written.
    """
    place = place_of(path, "write")
    if format is None:
        file = PurePath(place.lower() if isinstance(place, str) else "")
        end = file.with_suffix("").suffix if file.suffix in PACKED else file.suffix
        format = next((kind for kind, ends in _ENDS.items() if end in ends), None)
        if format is None:
            says = f"the name {place!r} says" if isinstance(place, str) else "a stream says"
            raise InputError(f"{says} no format (.fa, .fq); give format='fasta' or 'fastq'")
    choice(format, "format", _ENDS)
    width = whole_number(width, "width", 1)
    kind = type(sequences)  # scikit-bio's and Biopython's are iterables of letters, too
    if issubclass(kind, str | Sequence) or hasattr(kind, "metadata") or hasattr(kind, "__bytes__"):
        sequences = [sequences]
    if not is_iterable(sequences):
        raise InputError(f"sequences must be an iterable of sequences, not {shown(sequences)}")
    with written(place) as stream:
        is_raw = getattr(stream, "errors", "") == "surrogateescape"  # takes bytes that are no text
        for number, given in enumerate(sequences, 1):
            one = as_sequence(given, f"sequence {number}", check=False)
            letters, quality = one.read(), one.quality
            check_letters(letters, f"sequence {number}")
            name = printable(one.name, "_", is_raw) or str(number)
            title = f"{name} {printable(one.description, ' ', is_raw)}".rstrip()
            if format == "fastq":
                if quality is None:
                    raise InputError(f"sequence {number}, {name!r}, has no qualities; write FASTA")
                both = (line.tobytes().decode("ascii") for line in (letters, quality))
                stream.write("@{}\n{}\n+\n{}\n".format(title, *both))
                continue
            if (letters == ord(">")).any():
                raise InputError(f"sequence {number}, {name!r}, has '>', which begins a record")
            stream.write(f">{title}\n")
            step = max(1, PIECE // width) * width
            for k in range(0, len(letters), step):
                stream.write(folded(letters[k : k + step].tobytes().decode("ascii"), width))
