"""What is generated from the table of options; messages (messages.py). Prints failures, then "command: N passed, N failed"."""
import os
import pty
import re
import subprocess
import sys
import time

import messages
import quoting
from shared import HERE, ROOT, check, onnxcc, result, same


def table():
    """The options of options.def as they are written: "-o", "--prefix", "-MD"."""
    rows = re.findall(r'^OPTION\((NULL|"[^"]+"), (0|\'.\'), (NULL|"[^"]+")', (ROOT / "compiler/options.def").read_text(), re.M)
    found = []
    for name, letter, _ in rows:
        if name != "NULL":
            found.append(("-" if name[1].isupper() else "--") + name.strip('"'))
        if letter != "0":
            found.append("-" + letter[1])
    return found


# ---- help and man page ----

def documents(options):
    text = onnxcc("--help").stdout
    check(max(len(line) for line in text.split("\n")) < 80, "--help: more than 79 columns")
    check(not re.search(r" $", text, re.M), "--help: a blank at the end of a line")
    heads = re.findall(r"^  (?: {4}|)(-[^\s,]+)(?:, (-\S+))?", text, re.M)
    heads = [re.sub(r"\[=.*", "", h) for pair in heads for h in pair if h]
    same(sorted(heads), sorted(options), "the options of --help")
    page = onnxcc("--man").stdout
    (HERE / "onnxcc.1").write_text(page)
    lint = subprocess.run(["mandoc", "-T", "lint", "onnxcc.1"], cwd=HERE, capture_output=True, text=True, check=False).stdout
    lint = [s for s in lint.splitlines() if "missing date" not in s]    # there is none, so that the page is the same every day
    check(not lint, "\n".join(["mandoc: "] + lint))
    groff = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=78n", "onnxcc.1"], cwd=HERE, capture_output=True, text=True, check=False)
    check(not groff.stderr, f"groff: {groff.stderr}")
    plain = subprocess.run(["mandoc", "-T", "ascii", "onnxcc.1"], cwd=HERE, capture_output=True, text=True, check=False).stdout
    plain = re.sub(r".\x08", "", plain)
    for option in options:
        check(re.search(rf"^ +(-\S+, )?{re.escape(option)}\b", plain, re.M), f"the man page has no {option}")


# ---- completions ----

def bash(words):
    """What an interactive bash inserts after "onnxcc WORDS"."""
    master, slave = pty.openpty()
    shell = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=HERE,
                             env={**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null", "HISTFILE": ""}, start_new_session=True)
    os.close(slave)
    setup = "onnxcc() { printf 'GOT %s\\n' \"$@\"; exit; }; source ./onnxcc.bash; bind '\"\\C-o\": insert-completions'\n"
    os.write(master, setup.encode())
    time.sleep(0.3)
    os.write(master, f"onnxcc {words}\x0f\n".encode())
    said = b""
    try:
        while chunk := os.read(master, 65536):
            said += chunk
    except OSError:     # the shell has ended
        pass
    shell.wait()
    os.close(master)
    return re.findall(r"^GOT (.*?)\r?$", said.decode(errors="replace"), re.M)


def fish(words):
    script = f"function onnxcc; end; source onnxcc.fish; complete -C 'onnxcc {words}'"
    p = subprocess.run(["fish", "--no-config", "-c", script], cwd=HERE, capture_output=True, text=True, env={**os.environ, "HOME": str(HERE)},
                       check=False)
    check(not p.stderr, f"fish: {p.stderr}")
    return [line.split("\t")[0] for line in p.stdout.splitlines()]


ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT= RPROMPT=; fpath=($PWD \$fpath); autoload -U compinit; compinit -u -D; bindkey '^I' complete-word
compadd() { [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] || { typeset -a found; builtin compadd -A found \"\$@\"
for x in \$found; do print -r -- \"GOT<\$x>\"; done }; builtin compadd \"\$@\" }
onnxcc() { print FIN; print ISHED }; print REA; print DY"
zpty -r z said '*DY*'
zpty -w -n z "onnxcc $1"$'\t'
sleep 0.5
zpty -w z $'\x15onnxcc'
zpty -r z said '*ISHED*'
print -r -- $said
"""


def zsh(words):
    (HERE / "capture.zsh").write_text(ZSH)
    p = subprocess.run(["zsh", "-f", "capture.zsh", words], cwd=HERE, capture_output=True, text=True, timeout=60, check=False)
    return re.findall(r"GOT<(.*?)>", p.stdout)


def completions(options):
    warnings = [f"-W{w}" for w in ("all", "error", *(f"no-{w}" for w in messages.names()))]
    for shell, file in ("bash", "onnxcc.bash"), ("zsh", "_onnxcc"), ("fish", "onnxcc.fish"):
        (HERE / file).write_text(onnxcc(f"--completions={shell}").stdout)
        p = subprocess.run([shell, "-n", file], cwd=HERE, capture_output=True, text=True, check=False)
        check(not p.returncode and not p.stderr, f"{shell} -n: {p.stderr}")
    (HERE / "net.onnx").touch()
    (HERE / "my data").mkdir()
    weights = ["auto", "inline", "incbin", "file"]
    same(bash("-"), sorted([o for o in options if o != "-W"] + warnings), "bash: options")
    same(bash("--max-a"), ["--max-arena"], "bash: --max-a")
    same(bash("--weights "), ["--weights", *sorted(weights)], "bash: --weights")
    same(bash("--weights=in"), ["--weights=incbin", "inline"], "bash: --weights=in")
    same(bash("net.onnx --target cortex-m5"), ["net.onnx", "--target", "cortex-m55"], "bash: --target")
    same(bash("--report=t"), ["--report=text"], "bash: --report=")
    same(bash("--report n"), ["--report", "net.onnx"], "bash: --report, then the model")
    same(bash("--eval my"), ["--eval", "my data"], "bash: a folder with a blank in its name")
    same(bash("-o _on"), ["-o", "_onnxcc"], "bash: any file after -o")
    same(sorted(o for o in fish("--")), sorted([o for o in options if o[:2] == "--"] + words_of_optional()), "fish: options")
    same(fish("--weights=in"), ["--weights=incbin", "--weights=inline"], "fish: --weights=in")
    same(sorted(fish("--weights ")), sorted(weights), "fish: --weights")
    check({"--report=json", "--report=text"} <= set(fish("--report=")), "fish: --report=")     # and files
    check("net.onnx" in fish("--report n"), "fish: --report, then the model")
    same(fish("-M"), ["-MD", "-MF"], "fish: -M")
    same(fish("--eval my"), ["my data/"], "fish: --eval")
    same(sorted(set(zsh("--"))), sorted(o for o in options if o[:2] == "--"), "zsh: options")
    same(zsh("--weights="), weights, "zsh: --weights=")
    check(set(zsh("--report=")) >= {"text", "json"}, "zsh: --report=")
    check({"cortex-m4", "cortex-m7", "cortex-m55"} <= set(zsh("net.onnx --target c")), "zsh: --target")
    check("net.onnx" in zsh("n"), "zsh: the model")


def words_of_optional():
    """Words like --report=json, which fish completes as options of their own."""
    p = onnxcc("--completions=fish").stdout
    return ["--" + s for s in re.findall(r"-l (\S+=\S+)", p)]


def main():
    options = table()
    documents(options)
    completions(options)
    messages.main()
    quoting.main()
    return result()


if __name__ == "__main__":
    sys.exit(main())
