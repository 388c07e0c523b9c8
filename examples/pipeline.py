"""A scikit-learn pipeline: sensitive features and tasks are routed to the classifier."""

import numpy as np
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import ffml

sklearn.set_config(enable_metadata_routing=True)
ffml.configure()

rng = np.random.default_rng(0)
sex, town = rng.choice(["F", "M"], 1200), np.repeat(np.arange(6), 200)
X = np.column_stack([rng.normal(size=1200) + (sex == "M"), rng.normal(size=(1200, 2))])
y = X[:, 0] + X[:, 1] + X[:, 2] ** 2 + rng.logistic(size=1200) > 1.5


def parity(y_true, y_pred, *, sensitive_features):
    """Return the lowest selection rate over the highest."""
    table = ffml.metrics.contingency_table(y_true, y_pred, sensitive_features == "M", 2)
    return ffml.metrics.demographic_parity_ratio(table)


classifier = ffml.FairMetaClassifier(shots=50)
classifier.set_fit_request(sensitive_features=True, tasks=True)
squares = make_column_transformer(
    (PolynomialFeatures(2, include_bias=False), [2]), remainder="passthrough"
)
search = GridSearchCV(
    make_pipeline(squares, StandardScaler(), classifier),
    {"fairmetaclassifier__max_gap": [0.02, 0.3]},
    scoring={
        "balanced_accuracy": "balanced_accuracy",
        "parity": make_scorer(parity).set_score_request(sensitive_features=True),
    },
    cv=ShuffleSplit(2, test_size=0.3, random_state=0),
    refit="parity",
)
search.fit(X, y, sensitive_features=sex, tasks=town)
results = search.cv_results_
for i, parameters in enumerate(results["params"]):
    print(
        f"max_gap {parameters['fairmetaclassifier__max_gap']}: DP ratio "
        f"{results['mean_test_parity'][i]:.2f}, balanced accuracy "
        f"{results['mean_test_balanced_accuracy'][i]:.2f}"
    )
print(f"{search.predict(X).mean():.0%} selected by the best one")
