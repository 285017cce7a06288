"""Exceptions of this package. Each is also the built-in class that fits, and says what is wrong and what to do."""


class KuramotoError(Exception):
    """Anything that this package raises of its own."""


class SettingError(KuramotoError, ValueError):
    """A value that is not allowed: of a setting, a text, an array, a name."""


class CorpusError(KuramotoError, ValueError):
    """A corpus that cannot be used."""


class RunError(KuramotoError, RuntimeError):
    """A run folder or checkpoint that cannot be used as asked, or training that failed."""


class NotARunError(RunError, FileNotFoundError):
    """A folder that is no run."""


class PlanError(KuramotoError, RuntimeError):
    """A plan of experiments that cannot be used."""


class FileError(KuramotoError, OSError):
    """A file that the system refused to read or write."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""


class DeniedFileError(FileError, PermissionError):
    """A file that this user may not read or write."""


class OutOfMemoryError(KuramotoError, MemoryError):
    """Work that does not fit in memory. It was not begun."""
