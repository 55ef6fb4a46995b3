"""The models that a run asks, and what they may cost together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from chase.core.errors import BudgetExhausted, UserError
from chase.core.interfaces import Benchmark, Judged
from chase.core.values import JudgeModel
from chase.models.chat import ChatModel
from chase.models.config import GGUF, OPENAI_COMPATIBLE, ModelConfig, Price
from chase.models.connect import connect, make_pacer
from chase.models.meter import Meter
from chase.models.pacing import Pacer
from chase.runs.accounting import ROLLOUT, paid_before
from chase.runs.config import model_config
from chase.runs.listening import Listener, Loading, Outage
from chase.runs.settings import Money, Paid
from chase.store.reader import Reader

Tables = Mapping[str, Mapping[str, Any]]
"""The config file's tables of models, by name."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How the models of a run are reached and driven."""

    tables: Tables
    base_url: str | None = None
    patience_seconds: float = 0.0
    meter: Meter | None = None
    """All models are on one."""
    prices: Mapping[str, Price | None] | None = None
    """By model; they win over the tables'."""
    on_outage: Callable[[str], object] | None = None
    on_wait: Callable[[str], object] | None = None
    """Hears that a model on this machine takes a while to hash or load; another thread may call it."""


class Models:
    """The models of a run by name: one name, one model. Models at one address with the same limits share a pacer."""

    def __init__(self, access: Access, *, alone: bool = False) -> None:
        """`alone`: there is one model, so that the address is its own, whatever its provider."""
        self._access = access
        self._alone = alone
        self._pacers: dict[Any, Pacer] = {}
        self.connected: dict[str, ChatModel] = {}

    @property
    def meter(self) -> Meter | None:
        return self._access.meter

    def config(self, name: str) -> ModelConfig:
        address = self._address(self._alone or name.startswith(f"{OPENAI_COMPATIBLE}:"))
        config = model_config(name, self._access.tables, base_url=address)
        price = (self._access.prices or {}).get(name)
        return config if price is None else replace(config, price=price)

    def get(self, name: str) -> ChatModel:
        """The model of a name. A missing key or SDK is a `SetupError`; nothing is sent yet."""
        return self.connected[name] if name in self.connected else self._connected(name, self.config(name))

    def _connected(self, label: str, config: ModelConfig) -> ChatModel:
        if label not in self.connected:
            access = self._access
            made = make_pacer(config, patience_seconds=access.patience_seconds, on_outage=access.on_outage)
            pacer = self._pacers.setdefault(_pace(config), made)
            self.connected[label] = connect(config, pacer=pacer, meter=access.meter, tell=access.on_wait)
        return self.connected[label]

    def _address(self, own: bool) -> str | None:
        return self._access.base_url if own else None

    def judge(self, asked: JudgeModel) -> ChatModel:
        """The model that a benchmark wants to be judged by: the run's own where nothing differs, else one beside it.

        It has the address of its table; `--base-url` is for the others, and for one that has none.
        """
        name, tables = asked.name, self._access.tables
        address = tables.get(name, {}).get("base_url") or self._address(name.startswith(f"{OPENAI_COMPATIBLE}:"))
        own = self.connected.get(name)
        as_others = model_config(name, tables, base_url=address) if own is None else own.config
        config = replace(as_others, settings={**as_others.settings, **asked.settings})
        return own if own is not None and config == own.config else self._connected(f"{name} as judge", config)

    def tables(self) -> dict[str, dict[str, Any]]:
        """What a config file must say of the models in use, addresses included."""
        found: dict[str, dict[str, Any]] = {}
        for model in self.connected.values():
            name = model.config.name
            address = {"base_url": model.config.base_url} if model.config.base_url else {}
            given = self._access.tables.get(name, {})
            if table := {**given, **address, **_served_with(model, given)}:
                found[name] = table
        return found

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """While their connections are open."""
        async with AsyncExitStack() as stack:
            for model in self.connected.values():
                await stack.enter_async_context(model)
            yield


def _served_with(model: ChatModel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of a file: the context that it was served with, so that a run goes on with it whatever the default is then."""
    if model.file is None:
        return {}
    return {"server": {**(given.get("server") or {}), "context_tokens": model.file.serving.context_tokens}}


def _pace(config: ModelConfig) -> Any:
    """What two models have in common that are driven together: the address and all that limits them there."""
    limits = (config.max_concurrency, config.requests_per_minute, config.tokens_per_minute, config.retries)
    return config.name if config.provider == GGUF else config.provider, config.base_url, limits


def access_of(settings: Paid, tables: Tables, listener: Listener) -> Access:
    """How the models are reached that settings name."""
    return Access(
        tables=tables,
        base_url=settings.base_url,
        patience_seconds=settings.patience,
        meter=make_meter(settings),
        prices={str(settings.model): given_price(settings)},
        on_outage=lambda message: listener.told(Outage(message=message)),
        on_wait=lambda message: listener.told(Loading(message=message)),
    )


def checked_models(settings: Paid, tables: Tables, listener: Listener, *, alone: bool = False) -> Models:
    """The models that settings name: what can be refused at once is, before a benchmark is built."""
    models = Models(access_of(settings, tables, listener), alone=alone)
    model = models.get(str(settings.model))
    if (settings.workers or 1) > 1 and not computes_here(model):
        raise UserError(
            f"workers={settings.workers}: processes compute the rollouts of an embedded model without a cap. Leave "
            f"--workers out: any other is asked {settings.concurrency} rollouts at a time."
        )
    return models


def fitted(benchmark: Benchmark[Any], models: Models, settings: Paid) -> Benchmark[Any]:
    """The benchmark, with its judge connected where a language model scores its answers; a file gets room for it."""
    models.get(str(settings.model)).make_room(benchmark.limits.context_tokens)
    if not isinstance(benchmark, Judged) or benchmark.asks is None:
        return benchmark
    if (settings.workers or 1) > 1:
        raise UserError(
            f"workers={settings.workers}: a language model judges the answers of {benchmark.name}, and this process "
            "alone asks it and keeps what it says. Leave --workers out."
        )
    judge = models.judge(benchmark.asks)
    judge.make_room(benchmark.limits.context_tokens)  # as the run's own model has, which it may be: one identity
    connected: Any = benchmark.judged_by(judge)
    return cast("Benchmark[Any]", connected)


def computes_here(model: ChatModel) -> bool:
    """Whether worker processes can do what a model does: it is in this process, and nothing of it is metered."""
    return model.config.embedded and model.meter is None


def make_meter(settings: Money) -> Meter | None:
    """The run's meter; None where nothing is capped."""
    usd, tokens = settings.budget_usd, settings.budget_tokens
    return None if usd is None and tokens is None else Meter(usd=usd, tokens=tokens)


def given_price(settings: Money) -> Price | None:
    """The price of the run's model, where one was given."""
    if settings.price is None:
        return None
    given, cached, said = (float(amount) for amount in settings.price)
    return Price(input=given, cached=cached, output=said)


def count_paid(meter: Meter | None, store: Reader, runs: Iterable[str]) -> None:
    """Count what a run paid for before it was interrupted, under all its ids."""
    if meter is not None:
        paid, unpriced = paid_before([spend for run in runs for spend in store.spend(run, uncounted=ROLLOUT)])
        meter.take_over(paid, unpriced=unpriced)


def at_the_cap(why: BudgetExhausted, meter: Meter | None, command: str | None) -> BudgetExhausted:
    """The end of a run that reached its cap. `command` goes on with a higher one; None: the same command does."""
    flag = "--budget-usd" if meter is not None and meter.reached == "usd" else "--budget-tokens"
    how = f"with `{command} {flag} MORE`" if command else f"by the same command with a higher {flag}"
    return BudgetExhausted(f"{why} What was finished is saved; go on {how}.")
