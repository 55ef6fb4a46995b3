"""What a request cost, where that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chase.models.config import Price

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.usage import RequestUsage


class Pricing:
    """Prices responses of one model: by the config's price, else by genai-prices' list, else not at all.

    The list is the one that comes with the package; nothing is downloaded. An address that the user gave
    (`own_address`) has a price only if the list knows the address, whatever the model is called there.
    """

    def __init__(self, price: Price | None = None, *, own_address: bool = False) -> None:
        self._price = price
        self._own_address = own_address
        self._unknown: set[tuple[str | None, str | None, str | None]] = set()

    def cost_usd(self, response: ModelResponse) -> float | None:
        """The cost of one response, or None if its price or its usage is unknown."""
        usage = response.usage
        if usage.unmeasured_requests:
            return None
        if self._price is not None:
            return priced(self._price, usage)
        if usage.cost is not None:
            return float(usage.cost)
        return self._listed(response)

    def expected_usd(
        self, usage: RequestUsage, *, model: str, provider: str, address: str | None = None
    ) -> float | None:
        """What a response with this usage would cost, or None if the price is unknown."""
        from pydantic_ai.messages import ModelResponse

        return self.cost_usd(
            ModelResponse(parts=[], usage=usage, model_name=model, provider_name=provider, provider_url=address)
        )

    def _listed(self, response: ModelResponse) -> float | None:
        reference = (response.model_name, response.provider_name, response.provider_url)
        if response.model_name is None or reference in self._unknown:
            return None
        try:
            if self._own_address:
                return _cost_by_address(response)
            return float(response.cost().total_price)
        except LookupError:
            self._unknown.add(reference)
        except ValueError:
            # The list knows the model but cannot price this usage.
            pass
        return None


def _cost_by_address(response: ModelResponse) -> float:
    from genai_prices import calc_price

    price = calc_price(
        response.usage,
        response.model_name or "",
        # A word, not an empty text, which would count as no address and have the name decide.
        provider_api_url=response.provider_url or "unknown",
        genai_request_timestamp=response.timestamp,
    )
    return float(price.total_price)


def priced(price: Price, usage: RequestUsage) -> float:
    """Tokens times price. Cached input is part of the input and has its own price."""
    cached = min(usage.cache_read_tokens, usage.input_tokens)
    cached_price = price.input if price.cached is None else price.cached
    return (
        (usage.input_tokens - cached) * price.input + cached * cached_price + usage.output_tokens * price.output
    ) / 1e6
