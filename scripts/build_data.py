"""Rebuild the Parquet files that the package carries from the publisher's own files.

    python scripts/build_data.py FOLDER

FOLDER holds ``adult.data``, ``adult.test``, ``communities.data`` and ``communities.names.txt`` as
the UCI Machine Learning Repository publishes them (data sets 2 and 183; the last is there called
``communities.names``). The inputs are checked by SHA-256, the columns are kept raw, and the same
inputs give the same bytes (with the same version of pyarrow, which signs its files).
"""

import argparse
import hashlib
import io
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

OUTPUT = Path(__file__).resolve().parents[1] / "src" / "ffml" / "datasets" / "files"

SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "communities.data": "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
    "communities.names.txt": "80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
}

ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]

# Codes of counties and places (59 % missing) and the publisher's cross-validation fold: numbers
# without meaning as quantities, and nothing in the package asks for them.
CRIME_USELESS = ["county", "community", "fold"]


def read_verified(folder: Path, name: str) -> str:
    """Return the text of an input file; stop if it is not the publisher's."""
    content = (folder / name).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[name]:
        raise SystemExit(f"{folder / name}: SHA-256 is {found}, expected {SHA256[name]}")
    return content.decode("utf-8")


def build_adult(folder: Path) -> pa.Table:
    """Both files one after the other; ``adult.test`` has a comment line and a dot after labels."""
    parts = [
        pd.read_csv(
            io.StringIO(read_verified(folder, name)),
            names=ADULT_COLUMNS,
            skipinitialspace=True,
            keep_default_na=False,
            comment="|",
        )
        for name in ("adult.data", "adult.test")
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame["income"] = frame["income"].str.removesuffix(".")
    return to_table(frame, categorical=frame.select_dtypes(exclude="number").columns)


def build_crime(folder: Path) -> pa.Table:
    """All communities, ``?`` as null, without the columns of `CRIME_USELESS`."""
    header = read_verified(folder, "communities.names.txt")
    names = re.findall(r"^@attribute (\S+) ", header, flags=re.MULTILINE)
    text = io.StringIO(read_verified(folder, "communities.data"))
    frame = pd.read_csv(text, names=names, na_values="?").drop(columns=CRIME_USELESS)
    return to_table(frame, categorical=[])


def to_table(frame: pd.DataFrame, categorical: list[str] | pd.Index) -> pa.Table:
    """Make an Arrow table that holds nothing but columns: no index, no versions, no dates."""
    columns = {}
    for name in frame.columns:
        values = frame[name]
        if name in categorical:
            categories = sorted(values.unique())
            codes = pd.Categorical(values, categories=categories).codes
            columns[name] = pa.DictionaryArray.from_arrays(
                pa.array(codes, pa.int8()), pa.array(categories, pa.string())
            )
        elif pd.api.types.is_integer_dtype(values):
            columns[name] = pa.array(values, pa.int32())
        elif pd.api.types.is_float_dtype(values):
            columns[name] = pa.array(values, pa.float64(), from_pandas=True)
        else:
            columns[name] = pa.array(values, pa.string())
    return pa.table(columns)


def write(table: pa.Table, path: Path) -> None:
    """Write one row group, dictionary-encoded, compressed with zstd."""
    pq.write_table(table, path, compression="zstd", compression_level=19, row_group_size=len(table))
    print(f"{path.name}: {len(table)} rows, {table.num_columns} columns, {path.stat().st_size} B")


def main() -> None:
    """Read the folder named on the command line and write the package's files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with the publisher's files")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write")
    arguments = parser.parse_args()
    write(build_adult(arguments.folder), arguments.output / "adult.parquet")
    write(build_crime(arguments.folder), arguments.output / "crime.parquet")


if __name__ == "__main__":
    main()
