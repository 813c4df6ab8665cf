"""What tokens cost, from the public price tables of genai-prices."""

from __future__ import annotations

from functools import lru_cache


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
    if not _is_known(model, provider, base_url):
        return None
    try:
        return _price(
            model,
            provider,
            base_url,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cached_tokens or None,
            cache_write_tokens=stored_tokens or None,
        )
    except (LookupError, ValueError):
        return None


@lru_cache(maxsize=256)
def _is_known(model: str, provider: str | None, base_url: str | None) -> bool:
    """Whether the tables have this model; found out once, since it takes time to find that they have not."""
    try:
        _price(model, provider, base_url, input_tokens=0, output_tokens=0)
    except (ImportError, LookupError):
        return False
    except ValueError:
        return True  # Of no tokens at all the tables may say nothing.
    return True


def _price(model: str, provider: str | None, base_url: str | None, **tokens: int | None) -> float:
    import genai_prices

    where = {"provider_id": provider} if base_url is None else {"provider_api_url": base_url}
    return float(genai_prices.calc_price(genai_prices.Usage(**tokens), model_ref=model, **where).total_price)
