"""Which programming language a file holds, by the end of its name, its whole name, or its first line.

Languages have the names that tree-sitter grammars use. No file is opened here.
"""

from __future__ import annotations

import re

_EXTENSIONS: dict[str, str] = {
    "asm": "asm s", "awk": "awk", "bash": "sh bash zsh ksh bats", "bicep": "bicep", "c": "c h",
    "clojure": "clj cljs cljc edn", "cmake": "cmake", "commonlisp": "lisp lsp cl",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl ino", "csharp": "cs csx", "css": "css", "cuda": "cu cuh",
    "d": "d", "dart": "dart", "diff": "diff patch", "dockerfile": "dockerfile", "elisp": "el",
    "elixir": "ex exs", "elm": "elm", "erlang": "erl hrl", "fish": "fish",
    "fortran": "f f90 f95 f03 f08 for", "fsharp": "fs fsi fsx", "gleam": "gleam",
    "glsl": "glsl vert frag comp", "go": "go", "graphql": "graphql gql", "groovy": "groovy gradle",
    "haskell": "hs lhs", "hcl": "hcl tf tfvars", "hlsl": "hlsl",
    "ini": "ini cfg conf properties editorconfig", "java": "java", "javascript": "js mjs cjs jsx",
    "json": "json5 jsonc webmanifest topojson", "julia": "jl", "kotlin": "kt kts", "lua": "lua",
    "make": "mk mak", "matlab": "m", "nim": "nim nims", "nix": "nix", "objc": "mm", "ocaml": "ml mli",
    "odin": "odin", "pascal": "pas pp dpr", "perl": "pl pm t", "php": "php phtml",
    "powershell": "ps1 psm1 psd1", "prisma": "prisma", "proto": "proto", "purescript": "purs",
    "python": "py pyi pyw pyx pxd bzl star", "r": "r", "racket": "rkt", "ruby": "rb rake gemspec ru",
    "rust": "rs", "scala": "scala sc sbt", "scheme": "scm ss", "scss": "scss sass less", "solidity": "sol",
    "sql": "sql", "starlark": "bazel", "svelte": "svelte", "swift": "swift", "tcl": "tcl", "toml": "toml",
    "tsx": "tsx", "typescript": "ts mts cts", "v": "vsh", "vb": "vb vbs bas", "verilog": "v sv svh",
    "vhdl": "vhd vhdl", "vim": "vim", "vue": "vue", "wgsl": "wgsl",
    "xml": "xml xsd xsl xslt svg plist wsdl csproj vbproj fsproj props targets resx xaml rss atom kml gpx",
    "yaml": "yaml yml", "zig": "zig",
}  # fmt: skip
LANGUAGE_OF_EXTENSION: dict[str, str] = {
    extension: language for language, extensions in _EXTENSIONS.items() for extension in extensions.split()
}
LANGUAGE_OF_NAME: dict[str, str] = {
    "makefile": "make", "gnumakefile": "make", "dockerfile": "dockerfile", "containerfile": "dockerfile",
    "justfile": "just", "cmakelists.txt": "cmake", "rakefile": "ruby", "gemfile": "ruby", "podfile": "ruby",
    "vagrantfile": "ruby", "brewfile": "ruby", "jenkinsfile": "groovy", "build": "starlark",
    "workspace": "starlark", "build.bazel": "starlark", "sconstruct": "python", ".bashrc": "bash",
    ".zshrc": "bash", ".profile": "bash", ".bash_profile": "bash", ".vimrc": "vim", ".gitconfig": "ini",
    ".editorconfig": "ini", "go.mod": "gomod", "cargo.lock": "toml", "pipfile": "toml",
    "poetry.lock": "toml", "uv.lock": "toml",
}  # fmt: skip
_INTERPRETERS: tuple[tuple[str, str], ...] = (
    ("python", "python"), ("node", "javascript"), ("deno", "typescript"), ("ruby", "ruby"),
    ("perl", "perl"), ("php", "php"), ("lua", "lua"), ("awk", "awk"), ("pwsh", "powershell"),
    ("rscript", "r"), ("julia", "julia"), ("fish", "fish"), ("make", "make"), ("bash", "bash"),
    ("zsh", "bash"), ("sh", "bash"),
)  # fmt: skip


def language_of_name(name: str) -> str:
    """The language that a file name stands for (``make`` for ``src/Makefile``), or an empty string."""
    base = re.split(r"[/\\]", name)[-1].lower()
    extension = base.rpartition(".")[2] if "." in base else ""
    return LANGUAGE_OF_NAME.get(base) or LANGUAGE_OF_EXTENSION.get(extension, "")


def language_of_first_line(line: str) -> str:
    """The language of a script by its ``#!`` line, or an empty string."""
    if not line.startswith("#!"):
        return ""
    words = re.split(r"[\s/]+", line[2:].strip().lower())
    named = (language for word in words for start, language in _INTERPRETERS if word.startswith(start))
    return next(named, "")
