"""The scikit-learn face of the library: `FairMetaClassifier`."""

try:
    from ffml.estimator._classifier import FairMetaClassifier
except ImportError as error:
    if not str(error.name).startswith("sklearn"):
        raise
    needed = "FairMetaClassifier needs scikit-learn >= 1.6; pip install 'scikit-learn>=1.6'"
    raise ImportError(needed) from error

FairMetaClassifier.__module__ = __name__  # where people and pickles find it

__all__ = ["FairMetaClassifier"]
