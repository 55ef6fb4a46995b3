"""Turns what an endpoint or pydantic-ai reports into our own errors."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from pydantic_ai import exceptions as theirs

from chase.core.errors import ChaseError, UserError
from chase.core.outside import valid_unicode
from chase.core.values import Json
from chase.models.config import OPENAI_COMPATIBLE, ModelConfig
from chase.models.contexts import STATUSES
from chase.models.errors import (
    AuthenticationFailed,
    ConnectionLost,
    ContextTooLong,
    ModelError,
    ModelNotFound,
    ProviderError,
    RateLimited,
    TimedOut,
)
from chase.models.secrets import Redactor

_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted"})
_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_CONTEXT_PHRASES = (
    "maximum context length",
    "context size",
    "context window",
    "reduce the length",
    "prompt is too long",
)
_LONGEST_QUOTE = 300
_LONGEST_WAIT_SECONDS = 366 * 86_400.0
_LONGEST_READ = 20_000
"""Characters of what an endpoint says that are looked at."""


class Failures:
    """Makes the errors of one model. Every sentence names the model and quotes no key."""

    def __init__(self, config: ModelConfig, redact: Redactor) -> None:
        where = f" at {config.base_url}" if config.base_url else ""
        self._model = f"model '{config.name}'{where}"
        self._key_advice = _key_advice(config)
        self._timeout_seconds = config.attempt_seconds
        self.redact = redact

    def from_status(
        self, status: int, headers: Mapping[str, str], body: Json, *, answered: int | None = None
    ) -> ChaseError:
        """The error that an HTTP status other than 200 stands for. `body` is JSON, or text. `answered`: the status that
        came, where `status` is what the body makes of it.
        """
        codes, message = _codes_and_message(body)
        said = self._after_colon(message)
        if status == 413 or (status in STATUSES and _says_too_long(codes, message)):
            return self._too_long(said)
        if status in (401, 403) or "invalid_api_key" in codes:
            return self._refused_key(f"HTTP {status}{said}")
        if status == 404 or "model_not_found" in codes:
            return self._not_found(f"HTTP {status}{said}")
        if status == 402 or codes & _QUOTA_CODES:
            return self._no_quota(status, said)
        retry_after = seconds_to_wait(headers)
        if status == 429:
            return self._rate_limited(retry_after, said)
        retryable = _may_pass(status)
        return ProviderError(
            f"{self._model} answered HTTP {status if answered is None else f'{answered} with an error'}{said}.",
            status=status,
            retryable=retryable,
            retry_after=retry_after if retryable else None,
        )

    def not_believed(self, refusal: ContextTooLong) -> ModelError:
        """The error for a refusal of a history as too long that is not near any limit: the endpoint is in trouble."""
        return ProviderError(f"{refusal} It is far shorter than what models take, so this is not believed.")

    def from_nonsense(self, why: str, status: int = 200) -> ModelError:
        """The error for an answer that is no completion."""
        return ProviderError(f"{self._model} sent no completion: {self._quote(why)}.", status=status)

    def unreachable(self, why: str) -> ModelError:
        """The error for an endpoint that cannot be connected to."""
        return ConnectionLost(
            f"{self._model} cannot be reached ({self._quote(why)}): check that it is up and base_url right."
        )

    def hung_up(self, why: str) -> ModelError:
        """The error for a connection that ended before the answer did."""
        return ConnectionLost(f"{self._model} closed the connection ({self._quote(why)}).")

    def timed_out(self) -> ModelError:
        """The error for an attempt that took too long."""
        return TimedOut(f"{self._model} gave no answer in timeout_seconds={self._timeout_seconds:g}.")

    def past_deadline(self) -> ModelError:
        """The error for a request whose caller has no time left."""
        return TimedOut(f"{self._model} gave no answer before the deadline.", at_deadline=True)

    def from_pydantic_ai(self, error: Exception) -> ChaseError | None:
        """Our error for one of pydantic-ai's, or None for an exception that is not theirs."""
        said = self._after_colon(str(error))
        match error:
            case theirs.ModelContextWindowExceededError() if getattr(error, "status_code", 400) in STATUSES:
                return self._too_long(said)
            case theirs.ModelAuthenticationError():
                return self._refused_key(said.removeprefix(": "))
            case theirs.ModelNotFoundError():
                return self._not_found(said.removeprefix(": "))
            case theirs.ModelRateLimitError():
                return self._rate_limited(_wait(error.retry_after), said)
            case theirs.ModelQuotaExceededError():
                return self._no_quota(getattr(error, "status_code", 402), said)
            case theirs.ModelTimeoutError() | theirs.ModelRequestTimeout():
                return self.timed_out()
            case theirs.ModelConnectionError():
                sent = error.phase in ("write", "read")
                return self.hung_up(_first_said(error)) if sent else self.unreachable(_first_said(error))
            case theirs.ModelAPIError():
                return self._provider_error(error, said)
            case theirs.UnexpectedModelBehavior():
                return ProviderError(f"{self._model} sent no completion{said}.")
            case theirs.UserError():
                return UserError(f"{self._model} cannot be asked this way{said}")
        return None

    def _provider_error(self, error: theirs.ModelAPIError, said: str) -> ChaseError:
        status = getattr(error, "status_code", None)
        if status == 413:
            return self._too_long(said)
        rejected = isinstance(error, theirs.ModelRequestRejectedError)
        return ProviderError(
            f"{self._model} answered with an error{said}.",
            status=status,
            retryable=not rejected or (status is not None and _may_pass(status)),
            retry_after=_wait(error.retry_after),
        )

    def _rate_limited(self, retry_after: float | None, said: str) -> ChaseError:
        return RateLimited(
            f"{self._model} refused the request because there were too many{said}.", retry_after=retry_after
        )

    def _no_quota(self, status: int, said: str) -> ChaseError:
        return ProviderError(
            f"{self._model}: the account's quota is used up{said}; add credit, then resume.",
            status=status,
            retryable=False,
        )

    def _too_long(self, said: str) -> ChaseError:
        return ContextTooLong(f"{self._model}: the history exceeds the context{said}.")

    def _refused_key(self, said: str) -> ChaseError:
        return AuthenticationFailed(f"{self._model} refused access ({said}): {self._key_advice}.")

    def _not_found(self, said: str) -> ChaseError:
        return ModelNotFound(f"{self._model} was not found ({said}): check the model's name and base_url.")

    def _quote(self, text: str) -> str:
        # Redact first: a cut might leave half a key.
        text = " ".join(self.redact(valid_unicode(text[:_LONGEST_READ])).split())
        return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"

    def _after_colon(self, text: str) -> str:
        quoted = self._quote(text)
        return f": {quoted}" if quoted else ""


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """What `retry-after-ms` or `Retry-After` asks for, in seconds from now; None if neither does."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _wait(float(milliseconds) / 1000)
        value = headers.get("Retry-After")
        return _wait(float(value)) if value else None
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(headers["Retry-After"])
        return _wait(when.replace(tzinfo=when.tzinfo or UTC).timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):  # a date that no calendar has
        return None


def _first_said(error: BaseException) -> str:
    """What was said where it began: SDKs put "Connection error." in place of it."""
    said = str(error)
    while (cause := error.__cause__) is not None:
        error, said = cause, str(cause) or said
    return said


def _wait(seconds: float | None) -> float | None:
    """A wait that can be kept in mind; None for what is no number of seconds."""
    if seconds is None or not math.isfinite(seconds):
        return None
    return min(max(0.0, seconds), _LONGEST_WAIT_SECONDS)


def _may_pass(status: int) -> bool:
    """Whether the same request may succeed soon, by the status that it was answered with."""
    return status in (408, 409, 425, 429) or status >= 500


def _key_advice(config: ModelConfig) -> str:
    if config.api_key_env:
        return f"check the key in the environment variable {config.api_key_env}"
    if config.provider == OPENAI_COMPATIBLE:
        return "name the environment variable that holds the key in api_key_env"
    return "check the provider's key in the environment"


def _codes_and_message(body: Json) -> tuple[frozenset[str], str]:
    """The codes and the message of an error body, in the forms that servers use."""
    if not isinstance(body, dict):
        return frozenset(), str(body or "")
    error = body.get("error", body)
    if not isinstance(error, dict):
        return frozenset(), str(error)
    codes = frozenset(str(error.get(key)) for key in ("code", "type"))
    return codes, str(error.get("message") or error.get("detail") or error)


def _says_too_long(codes: frozenset[str], message: str) -> bool:
    return bool(codes & _CONTEXT_CODES) or any(phrase in message.lower() for phrase in _CONTEXT_PHRASES)
