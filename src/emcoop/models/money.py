"""What tokens cost, from the public price tables of genai-prices."""

from __future__ import annotations


def cost_usd(
    model: str,
    *,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int = 0,
    stored_tokens: int = 0,
    provider: str | None = None,
    base_url: str | None = None,
) -> float | None:
    """US dollars for one call at today's list price, or None when no price is known.

    `input_tokens` includes `cached_tokens` (read from the provider's prompt cache) and `stored_tokens`
    (written to it). The provider is named, or found
    by its API address. A server that is in no table has no known price: None, not zero.
    """
    try:
        import genai_prices
    except ImportError:
        return None
    usage = genai_prices.Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cached_tokens or None,
        cache_write_tokens=stored_tokens or None,
    )
    try:
        if base_url is not None:
            price = genai_prices.calc_price(usage, model_ref=model, provider_api_url=base_url)
        else:
            price = genai_prices.calc_price(usage, model_ref=model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)
