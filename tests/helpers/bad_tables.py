"""Tables whose columns or values cannot be used; with those of `bad_files`: `BAD_TABLES`."""

from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
from bad_files import FILES, SQL, BadTable, columns, csv, parquet

ROLES = {"label": "y", "sensitive": "sex", "task": "town"}


def two_kinds(folder):
    for name, age in (("a", [1] * 8), ("b", ["old"] * 8)):
        pq.write_table(pa.table(columns(age=age, town=None)), folder / f"{name}.parquet")
    return folder


ID = [f"person {i}" for i in range(60)]
MANY = {"age": [1] * 60, "sex": ["F", "M"] * 30, "y": [0, 0, 1] * 20, "town": ["a"] * 60}
TEN_THOUSAND = {
    "age": [1] * 10_000,
    "sex": [f"g{i}" for i in range(10_000)],
    "y": [0, 1] * 5_000,
    "town": ["a"] * 10_000,
}

ROLE_CASES = {
    "no label column": BadTable(
        csv(y=None, Y=[0, 1] * 4),
        "there is no label column 'y'; did you mean 'Y'? The table has age, sex, town, Y",
    ),
    "renamed column": BadTable(
        csv(),
        "there is no sensitive column 'sexe'; did you mean 'sex'? The table has age, sex, y, town",
        {"sensitive": "sexe"},
    ),
    "column in capitals": BadTable(
        csv(),
        "there is no sensitive column 'SEX'; did you mean 'sex'? The table has age, sex, y, town",
        {"sensitive": "SEX"},
    ),
    "no task given": BadTable(
        csv(),
        "which column says what task a row belongs to? Give one (--task)",
        {"task": None},
    ),
    "no order column": BadTable(
        csv(), "there is no order column 'when'; the table has age, sex, y, town", {"order": "when"}
    ),
    "nothing to drop": BadTable(
        csv(), "there is no drop column 'id'; the table has age, sex, y, town", {"drop": ["id"]}
    ),
    "two parts": BadTable(
        csv(), "column 'y' is given as label and as sensitive; give it one part", {"sensitive": "y"}
    ),
    "dropped part": BadTable(
        csv(), "column 'sex' is given as sensitive and as drop; give it one part", {"drop": ["sex"]}
    ),
    "no sensitive column": BadTable(
        csv(), "at least one sensitive column is needed (--sensitive)", {"sensitive": ()}
    ),
    "no features": BadTable(
        csv(), "no columns are left as features; drop fewer (--drop)", {"drop": ["age"]}
    ),
}

VALUES = {
    "label of three values": BadTable(
        csv(y=[0, 1, 2, 0] * 2),
        "label column 'y' holds more than two values ('0', '1', '2'); map them to two, or choose "
        "another column (--label)",
    ),
    "label of many values": BadTable(
        csv(y=[0.5, 1, 2, 3, 4, 5, 6, 7]),
        "label column 'y' holds more than two values ('0.5', '1', '2', '3', '4', ...); map them to "
        "two, or choose another column (--label)",
    ),
    "label of one value": BadTable(
        csv(y=[1] * 8),
        "label column 'y' holds one value only ('1'); there is nothing to learn, choose another "
        "column (--label)",
    ),
    "label of texts": BadTable(
        csv(y=["bad", "good"] * 4),
        "label column 'y' holds 'bad' and 'good'; say which one is the favourable outcome "
        "(--positive)",
    ),
    "label of other numbers": BadTable(
        parquet(y=[1.0, 2.0] * 4),
        "label column 'y' holds '1' and '2'; say which one is the favourable outcome (--positive)",
    ),
    "unknown positive value": BadTable(
        csv(y=["no", "yes"] * 4),
        "label column 'y' holds 'no' and 'yes', not 'ja'; give one of them (--positive)",
        {"positive": "ja"},
    ),
    "no labels at all": BadTable(
        parquet(y=pa.nulls(8, pa.int64())),
        "label column 'y' is empty; labels of some people are needed to learn from",
    ),
    "NaN labels alone": BadTable(
        parquet(y=[float("nan")] * 8),
        "label column 'y' is empty; labels of some people are needed to learn from",
    ),
    "infinite labels": BadTable(
        parquet(y=[0.0, 1.0, float("inf"), 1.0] * 2),
        "label column 'y' holds infinite values; make them missing",
    ),
    "missing groups and tasks": BadTable(
        csv(sex=["F", "?"] * 4, town=["a"] * 7 + [""]),
        "rows without a value: 1 in task column 'town', 4 in sensitive column 'sex'; fill them in, "
        "or leave such rows out (--set data.drop_missing=true)",
    ),
    "infinite groups": BadTable(
        csv(sex=[1, "-inf"] * 4),
        "sensitive column 'sex' holds infinite values; make them missing",
    ),
    "infinite task": BadTable(
        parquet(town=[1.0, float("inf")] * 4),
        "task column 'town' holds infinite values; make them missing",
    ),
    "all rows incomplete": BadTable(
        csv(sex=["NA"] * 8),
        "{path} has no rows left without those that miss a value",
        {"drop_missing": True},
    ),
    "one group": BadTable(
        csv(sex=["F"] * 8),
        "sensitive column 'sex' has one group only ('F'); groups are compared, so at least two are "
        "needed",
    ),
    "one crossed group": BadTable(
        csv(sex=["F"] * 8, race=["x"] * 8),
        "sensitive column 'sex×race' has one group only ('F×x'); groups are compared, so at least "
        "two are needed",
        {"sensitive": ["sex", "race"], "intersect": True},
    ),
    "a group of a combination's name": BadTable(
        csv(sex=["B×n", "B"] * 4, race=["n", "n×n"] * 4),
        "a group is called 'B×n', and × joins the names of groups that are crossed; rename it",
        {"sensitive": ["sex", "race"], "intersect": True},
    ),
    "10,000 groups": BadTable(
        csv(**TEN_THOUSAND),
        "sensitive column 'sex' has more than 50 groups ('g0', 'g1', 'g10', ...); make fewer of "
        "them, such as bands of age",
    ),
    "infinite feature": BadTable(
        csv(age=[1, 2, 3, "inf"] * 2),
        "column 'age' holds infinite values ('inf' in row 5, and 1 more); make them missing",
    ),
    "huge feature": BadTable(
        parquet(age=[1e31] * 8),
        "column 'age' holds 1e+31, and 1e+30 is the limit (row 1, and 7 more); rescale the column "
        "or make such values missing",
    ),
    "all-missing feature": BadTable(
        csv(income=[None] * 8), "column 'income' holds no values; drop it (--drop income)"
    ),
    "all-NaN feature": BadTable(
        parquet(income=[float("nan")] * 8),
        "column 'income' holds no values; drop it (--drop income)",
    ),
    "id of texts": BadTable(
        csv(**MANY, who=ID),
        "column 'who' has a different text in nearly every row ('person 0', 'person 1', 'person "
        "10', ...), like an id; drop it (--drop who), name it as the id of the rows (--set "
        "data.id=who), or group its values",
    ),
    "several columns": BadTable(
        csv(**MANY, who=ID, income=[*range(1000, 1041), "n/a!", *range(2000, 2018)]),
        "2 columns cannot be used as they are: (1) column 'who' has a different text in nearly "
        "every row ('person 0', 'person 1', 'person 10', ...), like an id; drop it (--drop who), "
        "name it as the id of the rows (--set data.id=who), or group its values; (2) column "
        "'income' holds numbers but for 'n/a!' (row 43); correct what is no number, or leave it "
        "empty",
    ),
    "several columns to drop": BadTable(
        csv(**MANY, who=ID, day=[f"2024-01-{i % 28 + 1:02d} 10:{i % 60:02d}" for i in range(60)]),
        "2 columns cannot be used as they are: (1) column 'who' has a different text in nearly "
        "every row ('person 0', 'person 1', 'person 10', ...), like an id; drop it (--drop who), "
        "name it as the id of the rows (--set data.id=who), or group its values; (2) column 'day' "
        "holds dates or times ('2024-01-01 10:00', '2024-01-01 10:28', '2024-01-01 10:56', ...), "
        "which are no inputs; drop it (--drop day), or make numbers of them, such as years of "
        "age; to drop all of these at once: --drop who --drop day",
    ),
    "one text among numbers": BadTable(
        csv(**MANY, income=[*range(1000, 1041), "n/a!", *range(2000, 2018)]),
        "column 'income' holds numbers but for 'n/a!' (row 43); correct what is no number, or "
        "leave it empty",
    ),
    "one text among many numbers": BadTable(
        csv(**TEN_THOUSAND | {"sex": ["F", "M"] * 5_000}, pay=[*range(9_999), "n/a!"]),
        "column 'pay' holds numbers but for 'n/a!' (row 10,001); correct what is no number, or "
        "leave it empty",
    ),
    "some texts among numbers": BadTable(
        csv(**MANY, income=[*range(1000, 1056), "-", "none", "-", "-"]),
        "column 'income' holds numbers, but not in every row ('-' in row 58, and 3 more); correct "
        "what is no number, or leave it empty",
    ),
    "timestamp feature": BadTable(
        parquet(at=[datetime(2024, 1, 1)] * 8),
        "column 'at' holds dates or times, which cannot be a feature; drop it (--drop at) or turn "
        "it into numbers or texts",
    ),
    "nested feature": BadTable(
        parquet(tags=[{"a": 1}] * 8),
        "column 'tags' holds values of the nested or raw type struct<a: int64>, which cannot be a "
        "feature; drop it (--drop tags) or turn it into numbers or texts",
    ),
    "binary feature": BadTable(
        parquet(photo=[b"x"] * 8),
        "column 'photo' holds values of the nested or raw type binary, which cannot be a feature; "
        "drop it (--drop photo) or turn it into numbers or texts",
    ),
    "nested task": BadTable(
        parquet(town=[{"a": 1}] * 8),
        "task column 'town' holds values of the nested or raw type struct<a: int64>; turn it into "
        "numbers or texts",
    ),
    "numbers here, texts there": BadTable(
        two_kinds,
        "column 'age' holds numbers in one place and texts in another; make them all numbers or "
        "all texts",
        {"task": None},
    ),
    "task without order": BadTable(
        csv(when=[1] * 4 + [None] * 4),
        "task 'b' has no value in the order column 'when'; fill one in",
        {"order": "when"},
    ),
}

BAD_TABLES = FILES | ROLE_CASES | VALUES | SQL
