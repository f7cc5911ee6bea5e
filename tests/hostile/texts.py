"""Texts that look like code, and their insertion into a model's strings."""
MARK = "LIVE__TEXT"     # two underscores: no identifier that onnxcc makes has them
TEXTS = [
    f"*/ {MARK}; /*", f"*/{MARK}", f"\n#error {MARK}\n", f"\r{MARK};\r", f"\\\n{MARK}", f"a ??/\n{MARK}", f"??/{MARK}\\", f"\"; {MARK}; \"",
    f"'{MARK}'", f"// {MARK} \\", f"/* {MARK}", f"/*/ {MARK}", f"*??/\n/ {MARK}", f"*\\\n/ {MARK} /*", f"/", f"*", "**", "//", "*/", "/*",
    f"%s%n%d {MARK}", f"${{{MARK}}} `{MARK}` $({MARK})", f"\0*/{MARK}", f"\x1b[2J\x1b]0;{MARK}\x07", f"\u202e{MARK}\u2066", f"\u0085{MARK}\u2028",
    f"é{MARK}ß", "\x7f\x08\t", f"<%:%> {MARK} ??< ??>", f"\\u002a/ {MARK}", f"__attribute__(({MARK}))", f"_Pragma(\"{MARK}\")", f"@BODY@ {MARK}",
    f"#ifndef {MARK}", f"#ifdef {MARK}", f"#define {MARK}", f"#include {MARK}", f"#endif {MARK}", f"@KERNELS@ {MARK}", f"----{MARK}",
    f"{MARK}\n" * 3, "x" * 10000, f"*/ {MARK} /*" * 700, " ", ".", "/a/../b", "-", "0", "123", "_", "__", "a b", "a_b", "a-b", "A", "a", ""]
BYTES = [b"\xff\xfe*/" + MARK.encode(), b"\xc0\xaf" + MARK.encode(), b"\xed\xa0\x80*/", b"\x80" * 9, b"\xf4\x90\x80\x80" + MARK.encode()]
PLACE = "\x01PLACE%05d\x02"     # stands for bytes that protobuf's classes refuse; replaced in the file


def strings(message, path=()):
    """Every string of a message: (message, field, index or None, path of field names)."""
    for field, value in message.ListFields():
        at = (*path, field.name)
        values = enumerate(value) if field.is_repeated else [(None, value)]
        for i, v in values:
            if field.type == field.TYPE_MESSAGE:
                yield from strings(v, at)
            elif field.type in (field.TYPE_STRING, field.TYPE_BYTES) and field.name != "raw_data":
                yield message, field, i, at


def put(message, field, i, text):
    value = text.encode("utf-8", "surrogateescape") if field.type == field.TYPE_BYTES else text
    if i is None:
        setattr(message, field.name, value)
    else:
        getattr(message, field.name)[i] = value


def get(message, field, i):
    value = getattr(message, field.name) if i is None else getattr(message, field.name)[i]
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def kind(message, field, path):
    """The role of the string in the model: a value, a size, a function ..., free text, or an operator's parameter."""
    name, where = field.name, message.DESCRIPTOR.name
    if where in ("ValueInfoProto", "SparseTensorProto") and name == "name" or where == "NodeProto" and name in ("input", "output"):
        return "value"
    if where == "TensorProto" and name == "name":
        return "value" if path[-2:] in (("initializer", "name"), ("values", "name")) else "free"
    if where == "FunctionProto" and name in ("input", "output"):
        return "value"
    if name == "dim_param":
        return "size"
    if name in ("doc_string", "producer_name", "producer_version") or where == "NodeProto" and name == "name" or \
            where == "GraphProto" and name == "name" or where == "ModelProto" and name == "domain" or name == "denotation":
        return "free"
    if where == "StringStringEntryProto" and "metadata_props" in path:
        return "key" if name == "key" else "free"
    if where == "TensorProto" and name == "string_data":
        return "data"
    return "meaning"


def add_everywhere(message, texts):
    """Texts where a model has none: doc strings, metadata, names, versions."""
    for field in message.DESCRIPTOR.fields:
        if field.name in ("doc_string", "producer_name", "producer_version", "domain") and message.DESCRIPTOR.name != "NodeProto" \
                and not (field.name == "domain" and message.DESCRIPTOR.name != "ModelProto"):
            setattr(message, field.name, next(texts))
        elif field.name == "name" and message.DESCRIPTOR.name in ("NodeProto", "GraphProto"):
            message.name = next(texts) or "a graph has a name"
        elif field.name == "metadata_props":
            entry = message.metadata_props.add()
            entry.key, entry.value = next(texts) or "k", next(texts)
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE and field.name != "metadata_props":
            for v in value if field.is_repeated else [value]:
                add_everywhere(v, texts)


def renamed(model, draw, free):
    """Renames every value and size consistently, by the names that `draw` returns, and makes free text hostile."""
    add_everywhere(model, free)
    names = {"value": {"": ""}, "size": {}}
    for message, field, i, path in list(strings(model)):
        what, old = kind(message, field, path), get(message, field, i)
        if what in names:
            if old not in names[what]:
                names[what][old] = next(draw)
            put(message, field, i, names[what][old])
        elif what == "free":
            put(message, field, i, next(free) or "free")
    return model


def wild(model, rng, texts):
    """Replaces one to three random strings."""
    all_of_them = list(strings(model))
    for message, field, i, _ in rng.sample(all_of_them, min(len(all_of_them), rng.randint(1, 3))):
        put(message, field, i, next(texts))
    if rng.random() < 0.3:
        add_everywhere(model, texts)
    return model


def serialized(model, raw):
    """The file's bytes, in which raw[i] replaces PLACE % i."""
    data = model.SerializeToString()
    for i, b in enumerate(raw):
        place = (PLACE % i).encode()
        data = data.replace(place, b + b"." * (len(place) - len(b)) if len(b) < len(place) else b[:len(place)])
    return data
