"""One call of a torch operation: which it is, what it reads and writes, and how to run it on other tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from rheo_proof.audit.torch_session import Session
from rheo_proof.audit.torch_store import AuditTensor, fresh, ids_of, settle

SHARING = {"_unsafe_view", "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"}
"""Views whose schema does not say so."""
_SEEDED = torch.Tag.nondeterministic_seeded


class Info:
    """What the schema of an operation says."""

    def __init__(self, func: Any) -> None:
        schema = func._schema
        arguments = schema.arguments
        self.names: list[str] = [a.name for a in arguments]
        self.defaults: dict[str, Any] = {a.name: a.default_value for a in arguments if a.has_default_value()}
        self.written: list[str] = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]
        self.mutable = bool(self.written)
        self.out: list[str] = [a.name for a in arguments if a.kwarg_only and a.name in self.written]
        namespace, _, name = schema.name.partition("::")
        self.namespace: str = namespace
        self.name: str = name
        in_place = self.mutable and not self.out and name.endswith("_") and not name.endswith("__")
        self.base: str = name.rstrip("_") if in_place else name
        self.views = name in SHARING or (not self.mutable and any(r.alias_info is not None for r in schema.returns))
        self.reshapes = torch.Tag.inplace_view in func.tags
        self.random = _SEEDED in func.tags or any("Generator" in str(a.type) for a in arguments)
        self.depends_on_data = (
            torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags
        )
        self.composite = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
        self.functional: Any = func if not self.mutable else _functional(self, arguments)
        shown = func if self.functional is None else self.functional
        self.signature = [(a.name, bool(a.kwarg_only)) for a in shown._schema.arguments]


def _functional(info: Info, arguments: Any) -> Any:
    """The overload that writes nothing and has the same arguments, less those for results."""
    packet = getattr(torch.ops.aten, info.base, None) if info.namespace == "aten" else None
    if packet is None:
        return None
    wanted = [(a.name, str(a.type)) for a in arguments if a.name not in info.out]
    for name in packet.overloads():
        overload = getattr(packet, name)
        schema = overload._schema
        if not schema.is_mutable and [(a.name, str(a.type)) for a in schema.arguments] == wanted:
            return overload
    return None


_infos: dict[Any, Info] = {}


def info_of(func: Any) -> Info:
    """What is known of an operation, read once."""
    info = _infos.get(func)
    if info is None:
        info = _infos[func] = Info(func)
    return info


class Call:
    """A call with operands some of whose elements are random."""

    def __init__(self, session: Session, func: Any, info: Info, args: Any, kwargs: dict[str, Any]) -> None:
        self.session = session
        self.table = session.table
        self.func = func
        self.info = info
        bound = dict(info.defaults)
        bound.update(zip(info.names, args, strict=False))
        bound.update(kwargs)
        self.bound = bound

    def __getitem__(self, name: str) -> Any:
        return self.bound.get(name)

    def tensor(self, name: str) -> AuditTensor:
        """An operand as a tensor of the run; a tensor from outside is a constant."""
        return self.as_audited(self.bound[name])

    def as_audited(self, value: Any) -> AuditTensor:
        """A tensor of the run over what is given."""
        return value if type(value) is AuditTensor else fresh(self.table, value)

    def operands(self) -> list[AuditTensor]:
        """The tensors of the run that are read."""
        found: list[AuditTensor] = []
        for name, value in self.bound.items():
            if name not in self.info.out:
                collect(value, found)
        return found

    def settle(self, *names: str) -> bool:
        """Decide what is lazy in some operands, or in all; whether nothing random is left there."""
        found: list[AuditTensor] = []
        for name, value in self.bound.items():
            if (not names and name not in self.info.out) or name in names:
                collect(value, found)
        done = [settle(each) for each in found]
        return all(done)

    def invoke(self, convert: Callable[[str, Any], Any], real: bool = False) -> Any:
        """Run the operation, without writing into anything, on arguments made by `convert` of name and argument.

        What it raises on `real` values is torch's own answer.
        """
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, keyword in self.info.signature:
            value = convert(name, self.bound.get(name))
            if keyword:
                kwargs[name] = value
            else:
                args.append(value)
        func = self.info.functional or self.func
        return genuine(lambda: func(*args, **kwargs)) if real else func(*args, **kwargs)

    def plain(self) -> Any:
        """Run it on the values, poison included: for shapes, types, and errors that torch would raise, too.

        Where there is no form of it that writes nothing, it writes into a copy.
        """
        spared = self.info.written if self.info.functional is None else []

        def convert(name: str, value: Any) -> Any:
            value = unwrap(value)
            return value.clone() if name in spared and isinstance(value, torch.Tensor) else value

        return self.invoke(convert, real=True)


def genuine(action: Callable[[], Any]) -> Any:
    """Run something of torch; what it raises is torch's own answer, and no fault of the audit."""
    try:
        return action()
    except Exception as error:
        error.__dict__["of_torch"] = True
        raise


def unwrap(value: Any) -> Any:
    """Tensors of the run, also in lists, as their values."""
    if type(value) is AuditTensor:
        return value.value
    if isinstance(value, (list, tuple)):
        return [unwrap(each) for each in value]
    return value


def collect(value: Any, found: list[AuditTensor]) -> None:
    """Add the tensors of the run in an argument to a list."""
    if type(value) is AuditTensor:
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for each in value:
            collect(each, found)


def any_random(tensors: list[AuditTensor]) -> bool:
    """Whether an element of one of these is random."""
    return any(ids_of(each) is not None for each in tensors)


Handler = Callable[[Call], Any]
HANDLERS: dict[str, Handler] = {}
"""Operations on random operands, by name without the underscore of the in-place form. A handler returns what the
operation would return if it wrote nothing, or NotImplemented to have lazy operands decided and the rest refused or
made opaque."""
SOURCES: dict[str, Handler] = {}
"""Operations that draw random numbers."""


def handles(*names: str, among: dict[str, Handler] = HANDLERS) -> Callable[[Handler], Handler]:
    """Register a handler."""

    def register(handler: Handler) -> Handler:
        for name in names:
            among[name] = handler
        return handler

    return register
