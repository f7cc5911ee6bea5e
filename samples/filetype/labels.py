"""Prints labels.h: the settings of the model's package as C. usage: labels.py CONFIG TYPES

CONFIG has the sizes of the network's input, its labels in order, and the score threshold of each; TYPES describes every type of
content."""
import json
import sys

config, types = (json.load(open(f)) for f in sys.argv[1:])
assert config["version_major"] == 3 and config["mid_size"] == 0 and not config["use_inputs_at_offsets"], "another network"
answers = config["target_labels_space"]


def row(answer):
    """A row of the table: the label's description and its threshold."""
    name = config["overwrite_map"].get(answer, answer)
    threshold = config["thresholds"].get(answer, config["medium_confidence_threshold"])
    return f'    {{"{name}", "{types[name]["description"]}", {threshold}, {int(types[name]["is_text"])}}},'


print("/* labels.h - made by labels.py from the settings in the model's package. */")
print("enum {")
for key, means in (("beg_size", "bytes of the file's beginning that the network sees"), ("end_size", "... and of its end"),
                   ("block_size", "bytes read at either end, from which these are taken"),
                   ("padding_token", "the input in place of a byte that the file lacks"),
                   ("min_file_size_for_dl", "the network does not run for fewer bytes")):
    print(f"    {key.upper()} = {config[key]}, /* {means} */")
print(f"    LABELS = {len(answers)}, EMPTY = LABELS, TXT, UNKNOWN\n}};\n")
print("/* The network's answers in order, then those given without it; text: whether the type is text. */")
print("static const struct type {\n    const char *name, *description;\n    double threshold;\n    _Bool text;\n} types[] = {")
print("\n".join(map(row, answers + ["empty", "txt", "unknown"])))
print("};")
