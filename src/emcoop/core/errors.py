"""Every error emcoop raises on purpose.

    EmcoopError                     one clear message that names the thing and the mend
    +-- ConfigError                 a file, flag or parameter that cannot be used
    |   +-- UnknownName             a name that nothing is registered under; says the nearest
    |   +-- NotApplicable           an arm that would mean nothing in this world; says why
    +-- MissingDependency           an optional package, model file or key that is not there
    +-- LogError                    a log that cannot be read or written
    |   +-- NewerSchema             written by a later emcoop
    |   +-- CorruptLog              not a database, or a damaged one
    |   +-- LogLocked               another process writes it
    |   +-- LogFull                 no space left where it lies
    |   +-- ReplayMismatch          the replayed world differs from the logged one
    +-- ModelError                  a language model that gave no usable answer
    |   +-- ModelUnavailable        faults that may pass (rate limit, timeout, connection), attempts used up
    |   +-- ModelRefused            an error that would repeat (authentication, unknown model, bad request)
    +-- Stall                       the episode cannot go on; names the agents that are not ready
    +-- CapReached                  an experiment has used what it was allowed; what is finished is kept
    +-- Interrupted                 the user stopped the run; what is finished is kept

A plan or action that fails inside an episode is no exception: it is a `Failure` value (see `types`).
"""

from typing import Any


class EmcoopError(Exception):
    """Base of all errors that emcoop raises on purpose."""


class ConfigError(EmcoopError):
    """A file, flag or parameter that cannot be used."""


class UnknownName(ConfigError):
    """A name that nothing is registered under."""


class NotApplicable(ConfigError):
    """An intervention or arm that would mean nothing in this world; a matrix leaves it out and says why."""


class MissingDependency(EmcoopError):
    """An optional package, a model file or a key that is not there."""


class LogError(EmcoopError):
    """A log that cannot be read or written."""


class NewerSchema(LogError):
    """The log was written by a later version of emcoop."""


class CorruptLog(LogError):
    """The file is not an emcoop log, or it is damaged."""


class LogLocked(LogError):
    """Another process holds the log for writing."""


class LogFull(LogError):
    """No space is left on the device that holds the log."""


class ReplayMismatch(LogError):
    """The replayed world differs from the logged one."""


class ModelError(EmcoopError):
    """A language model gave no usable answer; `faults` are the attempts that failed (`models.base.Fault`)."""

    def __init__(self, message: str, faults: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class ModelUnavailable(ModelError):
    """Faults that may pass went on until the attempts or the time were used up."""


class ModelRefused(ModelError):
    """The provider answered with an error that would repeat."""


class Stall(EmcoopError):
    """No agent can move the episode on; the message names those that are not ready."""


class CapReached(EmcoopError):
    """An experiment has used the money, the tokens or the time that it was allowed; what is finished is kept."""


class Interrupted(EmcoopError):
    """The user stopped the run."""
