"""The scikit-learn face of the library: `FairMetaClassifier`."""

from ffml.estimator._classifier import FairMetaClassifier

FairMetaClassifier.__module__ = __name__  # where people and pickles find it

__all__ = ["FairMetaClassifier"]
