"""Every error text of the package, read from the sources: what it says, of which class it is, what it advises.

Python's come from the calls of `errors.sentence`, those of the library from the `text(...)` of its checks. What is filled in at
run time is written as an ellipsis. The block `errors` of docs/troubleshooting.md is this list.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ("csrc/dispatch/*.cpp", "csrc/bindings/*.cpp")
HOLE = "…"


def python_errors(root=ROOT):
    """(text, class, advice, file) of every `sentence(...)`, in the order of files and lines."""
    found = []
    for path in sorted((root / "hopper_gemm").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call, owner in sentences(tree):
            what = words(call.args[0]) if call.args else ""
            if len(what.replace(HOLE, "").strip()) < 8:
                continue
            said = {k.arg: words(k.value) for k in call.keywords}
            advice = said.get("fix") or (f"expected: {said['expected']}" if said.get("expected") else "")
            found.append((what, owner, advice, path.relative_to(root).as_posix()))
    return found


def sentences(tree):
    """(call of sentence, name of the error it is raised as), by line."""
    found = []
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and getattr(child.func, "id", "") == "sentence":
                owner = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
                found.append((child, owner if owner.endswith("Error") else ""))
    return sorted(found, key=lambda pair: pair[0].lineno)


def words(node):
    """The text of an expression, an ellipsis for what is not known before the call."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(words(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return words(node.left) + words(node.right)
    return HOLE


def library_errors(root=ROOT):
    """(text, file) of every sentence the library makes: string literals of `text(...)`, `Error(...)` and `return`."""
    found = []
    statement = re.compile(r"(?:\btext\(|Error\(Error::Kind::\w+,\s*|return\s+)((?:[^;\"]*\"(?:\\.|[^\"\\])*\")+)")
    for pattern in LIBRARY:
        for path in sorted(root.glob(pattern)):
            for match in statement.finditer(without_comments(path.read_text(encoding="utf-8"))):
                whole = re.sub(r'"\s*\n\s*"', "", match.group(1))  # a literal that goes on in the next line
                literals = re.findall(r'"((?:\\.|[^"\\])*)"', whole)
                joined = re.sub(rf"\s*{HOLE}\s*", f" {HOLE} ", HOLE.join(literals)).strip(f" {HOLE}")
                known = re.sub(rf"[{HOLE}\\W]+", " ", joined).split()
                if len(known) >= 3 and len(known) > 1.5 * joined.count(HOLE):
                    found.append((joined.replace('\\"', '"'), path.relative_to(root).as_posix()))
    return found


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def cell(text):
    return re.sub(r"\s+", " ", text.replace("|", "\\|")).strip()


def table():
    """The Markdown of the block, by class."""
    by_class = {}
    for what, owner, fix, _ in python_errors():
        rows = by_class.setdefault(owner or "raised in several places", [])
        if (what, fix) not in rows:
            rows.append((what, fix))
    parts = []
    for owner in sorted(by_class, key=lambda name: (name == "raised in several places", name)):
        lines = [f"| {cell(what)} | {cell(fix)} |" for what, fix in by_class[owner]]
        parts.append(f"### {owner}\n\n" + "\n".join(["| text | what to do |", "| --- | --- |", *lines]))
    rules = list(dict.fromkeys(cell(text) for text, _ in library_errors()))
    parts.append("### From the library\n\n" + "\n".join(f"- {rule}" for rule in rules))
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(table())
