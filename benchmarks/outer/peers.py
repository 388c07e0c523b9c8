"""The same outer iteration with torch: vmapped ``torch.func``, torchopt and higher.

Rows are given, as to the bare program. One look at θ_k serves a dual step and the primal step that
follows, but for higher, whose steps take a loss and nothing else. A package that is not installed
raises ``ImportError``.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from outer.shapes import BOUND, INNER_LR, LAMBDA, Contender, Given, Rows


def torch_func(given: Given, cores: int, label: str) -> Contender:
    """Differentiate a function that is vmapped over tasks."""
    import torch
    from torch.func import grad, vjp, vmap

    def look(params: Any, x: Any, y: Any, s: Any) -> tuple[Any, Any]:
        for w, b in params[:-1]:
            x = torch.relu(x @ w + b)
        w, b = params[-1]
        return _measured((x @ w + b)[:, 0], y, s)

    def task(theta: Any, lam: Any, support: Any, query: Any) -> Any:
        params, own = theta, lam
        for step in range(given.shape.steps):
            (loss, g), back = vjp(lambda p: look(p, *support), params)
            if step:
                own = torch.relu(own + INNER_LR * g)
            (slope,) = back((torch.ones_like(loss), own))
            params = [
                (w - INNER_LR * dw, b - INNER_LR * db)
                for (w, b), (dw, db) in zip(params, slope, strict=True)
            ]
        loss, g = look(params, *query)
        return loss + lam * g

    def lagrangian(theta: Any, lam: Any, support: Any, query: Any) -> Any:
        return vmap(task, (None, None, 0, 0))(theta, lam, support, query).mean()

    torch.set_num_threads(cores)
    theta = [(torch.tensor(layer["w"]), torch.tensor(layer["b"])) for layer in given.params]
    arguments = (theta, torch.tensor(LAMBDA), *(_tensors(p) for p in (given.support, given.query)))
    both = grad(lagrangian, (0, 1))

    def slopes() -> tuple[Any, Any]:
        slope, dual = both(*arguments)
        return [{"w": w.numpy(), "b": b.numpy()} for w, b in slope], dual.numpy()

    return Contender(f"torch.func {_version('torch')}", label, _times(slopes), slopes)


def torchopt(given: Given, cores: int, label: str) -> Contender:
    """Adapt one task after another with a differentiable optimiser."""
    import torch
    import torchopt

    network, lam = _network(given, cores)
    theta = dict(network.named_parameters())
    optimizer = torchopt.sgd(lr=INNER_LR)

    def look(params: Any, x: Any, y: Any, s: Any) -> tuple[Any, Any]:
        return _measured(torch.func.functional_call(network, params, x)[:, 0], y, s)

    def adapted(support: Any) -> Any:
        params, own, state = theta, lam, optimizer.init(theta)
        for step in range(given.shape.steps):
            loss, g = look(params, *support)
            if step:
                own = torch.relu(own + INNER_LR * g)
            weights = (torch.ones_like(loss), own)
            slopes = torch.autograd.grad(
                (loss, g), tuple(params.values()), weights, create_graph=True
            )
            named = dict(zip(params, slopes, strict=True))
            updates, state = optimizer.update(named, state, inplace=False)
            params = torchopt.apply_updates(params, updates, inplace=False)
        return params

    def slopes() -> tuple[Any, Any]:
        _forget(network, lam)
        for support, query in _tasks(given):
            loss, g = look(adapted(support), *query)
            ((loss + lam * g) / given.shape.tasks).backward()
        return _collected(network, lam)

    return Contender(f"torchopt {_version('torchopt')}", label, _times(slopes), slopes)


def higher(given: Given, cores: int, label: str) -> Contender:
    """Adapt one task after another in a copy of the network whose steps are differentiable."""
    import higher
    import torch

    network, lam = _network(given, cores)
    optimizer = torch.optim.SGD(network.parameters(), lr=INNER_LR)

    def slopes() -> tuple[Any, Any]:
        _forget(network, lam)
        for support, query in _tasks(given):
            context = higher.innerloop_ctx(network, optimizer, copy_initial_weights=False)
            with context as (model, inner):
                own = lam
                for step in range(given.shape.steps):
                    if step:  # from parameters that the primal step takes for others
                        own = torch.relu(own + INNER_LR * look(model, support)[1])
                        model.update_params([one.clone() for one in model.fast_params])
                    loss, g = look(model, support)
                    inner.step(loss + own * g)
                loss, g = look(model, query)
                ((loss + lam * g) / given.shape.tasks).backward()
        return _collected(network, lam)

    def look(model: Any, rows: Any) -> tuple[Any, Any]:
        return _measured(model(rows[0])[:, 0], *rows[1:])

    return Contender(f"higher {_version('higher')}", label, _times(slopes), slopes)


PEERS = {"torch.func": torch_func, "torchopt": torchopt, "higher": higher}


def _measured(h: Any, y: Any, s: Any) -> tuple[Any, Any]:
    import torch

    gap = h @ s / s.sum() - h @ (1 - s) / (1 - s).sum()
    loss = (torch.nn.functional.softplus(h) - y * h).mean()
    return loss, gap.abs() - BOUND


def _forget(network: Any, lam: Any) -> None:
    network.zero_grad()
    lam.grad = None


def _network(given: Given, cores: int) -> tuple[Any, Any]:
    import torch
    from torch import nn

    torch.set_num_threads(cores)
    layers: list[Any] = []
    for one in given.params:
        rows, columns = one["w"].shape
        layer = nn.Linear(rows, columns)
        layer.weight.data = torch.tensor(one["w"].T.copy())
        layer.bias.data = torch.tensor(one["b"])
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1]), torch.tensor(LAMBDA, requires_grad=True)


def _collected(network: Any, lam: Any) -> tuple[Any, Any]:
    layers = [layer for layer in network if hasattr(layer, "weight")]
    slope = [{"w": one.weight.grad.numpy().T, "b": one.bias.grad.numpy()} for one in layers]
    return slope, lam.grad.numpy()


def _tasks(given: Given) -> Iterator[tuple[Any, Any]]:
    return zip(
        zip(*_tensors(given.support), strict=True),
        zip(*_tensors(given.query), strict=True),
        strict=True,
    )


def _tensors(rows: Rows) -> tuple[Any, ...]:
    import torch

    return tuple(torch.tensor(np.asarray(part)) for part in rows)


def _times(once: Callable[[], Any]) -> Callable[[int], None]:
    def run(count: int) -> None:
        for _ in range(count):
            once()

    return run


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package).split("+")[0]
