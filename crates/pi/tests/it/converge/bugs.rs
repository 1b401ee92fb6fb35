//! The projects with a bug: one for each kind of check.

use super::project::Project;

pub(super) const PYTEST: Project = Project {
    name: "pytest",
    needs: &["python3", "pytest"],
    check: "python3 -m pytest -q",
    files: &[
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        (
            "tests/test_calc.py",
            "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n\
             def test_zero():\n    assert add(2, 0) == 2\n",
        ),
        ("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = [\".\"]\n"),
        ("README.md", "A calculator.\n"),
        (".gitignore", "__pycache__/\n.pytest_cache/\n.venv/\n.env\n"),
    ],
    repaired: ("calc.py", "def add(a, b):\n    return a + b\n"),
};

pub(super) const CARGO: Project = Project {
    name: "cargo test",
    needs: &["cargo", "cc"],
    check: "cargo test --offline",
    files: &[
        ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
        (
            "src/lib.rs",
            "pub mod text;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n\
             #[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        \
             assert_eq!(super::add(2, 3), 5);\n    }\n}\n",
        ),
        ("src/text.rs", "pub fn shout(text: &str) -> String {\n    text.to_uppercase()\n}\n"),
        (
            "tests/add.rs",
            "#[test]\nfn zero() {\n    assert_eq!(calc::add(2, 0), 2);\n}\n\n\
             #[test]\nfn one() {\n    assert_eq!(calc::add(1, 1), 2);\n}\n",
        ),
        ("README.md", "A calculator.\n"),
        (".gitignore", "target/\n"),
    ],
    repaired: (
        "src/lib.rs",
        "pub mod text;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        \
         assert_eq!(super::add(2, 3), 5);\n    }\n}\n",
    ),
};

pub(super) const MAKE: Project = Project {
    name: "make",
    needs: &["make"],
    check: "make -s check",
    files: &[
        ("add.sh", "echo $(( $1 - $2 ))\n"),
        ("text.sh", "echo text\n"),
        (
            "Makefile",
            "-include .env\ninclude rules.inc\nADD ?= sh out/add.sh\n\n\
             check: out/add.sh\n\
             \t@test \"$$($(ADD) 2 3)\" = \"$$(cat data/sum)\"\n\
             \t@sh scripts/compare.sh \"$$($(ADD) 4 4)\" 8\n\
             \t@echo passed\n",
        ),
        ("rules.inc", "out/add.sh: add.sh\n\t@mkdir -p out\n\t@cp add.sh out/add.sh\n"),
        ("data/sum", "5\n"),
        ("scripts/compare.sh", "test \"$1\" = \"$2\"\n"),
        ("README.md", "A calculator.\n"),
        (".gitignore", "out/\n.env\n"),
    ],
    repaired: ("add.sh", "echo $(( $1 + $2 ))\n"),
};

pub(super) const NPM: Project = Project {
    name: "npm test",
    needs: &["npm", "node"],
    check: "npm test",
    files: &[
        (
            "package.json",
            "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test test/\"}}\n",
        ),
        ("index.js", "exports.add = (a, b) => a - b;\n"),
        ("text.js", "exports.shout = (text) => text.toUpperCase();\n"),
        (
            "test/add.test.js",
            "const assert = require('node:assert');\nconst test = require('node:test');\n\
             const { add } = require('../index.js');\n\n\
             test('adds', () => assert.strictEqual(add(2, 3), 5));\n\
             test('zero', () => assert.strictEqual(add(2, 0), 2));\n",
        ),
        ("README.md", "A calculator.\n"),
        (".gitignore", "node_modules/\n.npmrc\n.env\n"),
    ],
    repaired: ("index.js", "exports.add = (a, b) => a + b;\n"),
};

pub(super) const RUFF: Project = Project {
    name: "ruff",
    needs: &["python3", "ruff"],
    check: "ruff check .",
    files: &[
        ("app/main.py", "import os\n\n\ndef main():\n    print(\"main\")\n"),
        ("app/text.py", "def shout(text):\n    return text.upper()\n"),
        ("app/__init__.py", ""),
        ("pyproject.toml", "[project]\nname = \"app\"\nversion = \"1.0\"\n"),
        ("README.md", "An app.\n"),
        (".gitignore", "__pycache__/\n.ruff_cache/\n.venv/\n"),
    ],
    repaired: ("app/main.py", "def main():\n    print(\"main\")\n"),
};

pub(super) const MYPY: Project = Project {
    name: "mypy",
    needs: &["python3", "mypy"],
    check: "mypy app",
    files: &[
        ("app/main.py", "def double(number: int) -> int:\n    return str(number * 2)\n"),
        ("app/text.py", "def shout(text: str) -> str:\n    return text.upper()\n"),
        ("app/__init__.py", ""),
        ("pyproject.toml", "[project]\nname = \"app\"\nversion = \"1.0\"\n"),
        ("README.md", "An app.\n"),
        (".gitignore", "__pycache__/\n.mypy_cache/\n.venv/\n"),
    ],
    repaired: ("app/main.py", "def double(number: int) -> int:\n    return number * 2\n"),
};

pub(super) const CLIPPY: Project = Project {
    name: "cargo clippy",
    needs: &["cargo", "cargo-clippy"],
    check: "cargo clippy --offline -- -D warnings",
    files: &[
        ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", "pub mod sum;\npub mod text;\n"),
        (
            "src/sum.rs",
            "pub fn is_one(number: i32) -> bool {\n    return number == 1;\n}\n\n\
             #[allow(unused)]\n\
             pub fn sum(a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32) -> i32 {\n    \
             a + b + c + d + e + f + g\n}\n",
        ),
        ("src/text.rs", "pub fn shout(text: &str) -> String {\n    text.to_uppercase()\n}\n"),
        ("README.md", "A calculator.\n"),
        (".gitignore", "target/\n"),
    ],
    repaired: ("src/sum.rs", "pub fn is_one(number: i32) -> bool {\n    number == 1\n}\n"),
};

/// Returns all projects.
pub(super) const ALL: &[&Project] = &[&PYTEST, &CARGO, &MAKE, &NPM, &RUFF, &MYPY, &CLIPPY];
