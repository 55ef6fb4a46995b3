"""What can go wrong between us and a model, in our own words: nobody above knows an SDK's errors."""

from __future__ import annotations

from chase.core.errors import ChaseError, RolloutError, SetupError, UserError


class ModelError(RolloutError):
    """A model request failed for a reason outside the agent. Raised after the retries are spent."""

    def __init__(self, message: str, *, retryable: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        """Whether the same request may succeed if it is sent again soon."""
        self.retry_after = retry_after
        """Seconds that the provider asked us to wait, if it did."""
        self.attempts = 1
        self.waited_seconds = 0.0
        """How long the end of an outage was waited for."""

    def __str__(self) -> str:
        text = super().__str__()
        tried = f" (after {self.attempts} attempts)" if self.attempts > 1 else ""
        waited = f" It did not come back in {self.waited_seconds:.0f} s." if self.waited_seconds else ""
        return f"{text}{tried}{waited}"


class RateLimited(ModelError):
    """The provider refused the request because there were too many."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after=retry_after)


class ProviderError(ModelError):
    """The provider answered with an error, or with something that is not an answer."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, retryable=retryable, retry_after=retry_after)
        self.status = status


class ConnectionLost(ModelError):
    """The provider could not be reached, or hung up before the answer was complete."""


class TimedOut(ModelError):
    """No answer in time: within one attempt's timeout, or (`at_deadline`) before the caller's deadline."""

    def __init__(self, message: str, *, at_deadline: bool = False) -> None:
        super().__init__(message, retryable=not at_deadline)
        self.at_deadline = at_deadline


class AuthenticationFailed(SetupError):
    """The provider refused the key, or asked for one."""


class ModelNotFound(UserError):
    """The provider does not know the model, or nothing answers at the address."""


class ContextTooLong(ChaseError):
    """The history does not fit the model's context. The agent caused it, so it is scored, never retried."""
