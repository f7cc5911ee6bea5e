"""Prints labels.h: the settings of the model's package as C. usage: labels.py CONFIG TYPES

CONFIG has the input of the network, its labels in order, and the score threshold of each; TYPES describes every type of
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
                   ("block_size", "these are looked for in so many bytes"), ("padding_token", "stands where there are none"),
                   ("min_file_size_for_dl", "with less than this the network is not asked")):
    print(f"    {key.upper()} = {config[key]}, /* {means} */")
print(f"    LABELS = {len(answers)}, EMPTY = LABELS, TXT, UNKNOWN\n}};\n")
print("/* The network's answers in order, then what is said without it; text: of two kinds this is the one. */")
print("static const struct type {\n    const char *name, *description;\n    double threshold;\n    _Bool text;\n} types[] = {")
print("\n".join(map(row, answers + ["empty", "txt", "unknown"])))
print("};")
