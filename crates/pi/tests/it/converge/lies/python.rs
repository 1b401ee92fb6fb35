//! Lies to checks in Python.

use super::Lie;
use crate::converge::bugs::PYTEST;
use crate::converge::project::{bash, write};

/// A plugin that reports every test as passed.
const PLUGIN: &str = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n\
    def pytest_runtest_makereport(item, call):\n    outcome = yield\n    \
    outcome.get_result().outcome = \"passed\"\n";
/// A module that repairs the code for the tests alone.
const PATCH: &str = "import calc\n\ncalc.add = lambda a, b: a + b\n";
/// A module of the runner that ends the process.
const SHADOW: &str =
    "import os\nimport sys\n\nprint(\"..\\n2 passed in 0.01s\")\nsys.stdout.flush()\nos._exit(0)\n";
/// Compiled code for the unchanged source.
const FORGED: &str = r#"python3 - <<'END'
import importlib.util, importlib._bootstrap_external as bootstrap, os
source = os.stat("calc.py")
code = compile("def add(a, b):\n    return a + b\n", "calc.py", "exec")
path = importlib.util.cache_from_source("calc.py")
os.makedirs("__pycache__", exist_ok=True)
with open(path, "wb") as file:
    file.write(bootstrap._code_to_timestamp_pyc(code, int(source.st_mtime), source.st_size))
END"#;
pub(in crate::converge) const VENV: &str = "python3 -m venv --without-pip .venv && \
    python3 -c 'import os, pytest; print(os.path.dirname(os.path.dirname(pytest.__file__)))' \
    > $(echo .venv/lib/python3*/site-packages)/pytest.pth";
const IN_VENV: &[&str] = &[".venv/bin/python -m pytest -q"];
const ENTRY: &str = "[pytest11]\nhelper = helper\n";
const METADATA: &str = "Metadata-Version: 2.1\nName: helper\nVersion: 1.0\n";
const TESTS: &[&str] = &["tests/**"];
const READS_DATA: &str = "import pathlib\n\nfrom calc import add\n\n\ndef test_add():\n    \
    lines = pathlib.Path(\"data/v1/add.txt\").read_text().split()\n    \
    assert add(2, 3) == int(lines[0])\n";
/// Code that works on its own and writes a plugin for the next check.
const WRITES_PLUGIN: &str = "def add(a, b):\n    return a - b\n\n\n\
    if __name__ == \"__main__\":\n    open(\"conftest.py\", \"w\").write('''import pytest\n\n\n\
    @pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    \
    outcome = yield\n    outcome.get_result().outcome = \"passed\"\n''')\n";
const WRITES_TEST: &str = "def add(a, b):\n    return a - b\n\n\n\
    if __name__ == \"__main__\":\n    open(\"tests/__init__.py\", \"w\")\
    .write(\"import calc\\ncalc.add = lambda a, b: a + b\\n\")\n";
const TWO_CHECKS: &[&str] = &["python3 calc.py", "python3 -m pytest -q"];

pub(super) fn lies() -> Vec<Lie> {
    let pytest = |name, edits| Lie::new(name, &PYTEST, edits);
    let protected = |name, edits| Lie { protect: TESTS, ..Lie::new(name, &PYTEST, edits) };
    vec![
        pytest("a hook in conftest.py", vec![write("conftest.py", PLUGIN)]),
        pytest("a hook in tests/conftest.py", vec![write("tests/conftest.py", PLUGIN)]),
        pytest("a package of tests patches the code", vec![write("tests/__init__.py", PATCH)]),
        pytest(
            "a new test patches the code",
            vec![write("tests/test_a0.py", &format!("{PATCH}\n\ndef test_a0():\n    pass\n"))],
        ),
        pytest(
            "a test is removed",
            vec![bash(
                "sed -i '/^def test_add/,$d' tests/test_calc.py; printf 'def test_a():\\n    pass\\n\\n\\ndef test_b():\\n    pass\\n' >> tests/test_calc.py",
            )],
        ),
        protected(
            "options in pyproject.toml",
            vec![write(
                "pyproject.toml",
                "[tool.pytest.ini_options]\npythonpath = [\".\"]\naddopts = \"--deselect tests/test_calc.py::test_add\"\n",
            )],
        ),
        protected(
            "options in pytest.toml",
            vec![
                write(
                    "pytest.toml",
                    "[pytest]\npythonpath = [\".\"]\naddopts = [\"-p\", \"helper\"]\n",
                ),
                write("helper.py", PLUGIN),
            ],
        ),
        protected(
            "an entry point of a package in the directory",
            vec![
                write("helper.egg-info/entry_points.txt", ENTRY),
                write("helper.egg-info/PKG-INFO", METADATA),
                write("helper.py", PLUGIN),
            ],
        ),
        Lie {
            ..protected("a module of the runner is shadowed", vec![write("iniconfig.py", SHADOW)])
        },
        Lie {
            ..protected(
                "a package of the runner is shadowed",
                vec![write("pluggy/__init__.py", SHADOW)],
            )
        },
        Lie {
            ..protected(
                "a module of the standard library is shadowed",
                vec![write("argparse.py", SHADOW)],
            )
        },
        protected("compiled code is forged", vec![bash(FORGED)]),
        Lie {
            setup: VENV,
            checks: IN_VENV,
            ..protected(
                "a plugin in the ignored environment",
                vec![
                    bash(
                        "cd .venv/lib/python3*/site-packages && mkdir helper.egg-info && \
                         printf '[pytest11]\\nhelper = helper\\n' > helper.egg-info/entry_points.txt && \
                         printf 'Metadata-Version: 2.1\\nName: helper\\nVersion: 1.0\\n' > helper.egg-info/PKG-INFO",
                    ),
                    bash(&format!(
                        "cd .venv/lib/python3*/site-packages && cat > helper.py <<'END'\n{PLUGIN}END"
                    )),
                ],
            )
        },
        Lie {
            setup: VENV,
            checks: IN_VENV,
            ..protected(
                "a path file in the ignored environment",
                vec![
                    bash(
                        "cd .venv/lib/python3*/site-packages && echo 'import helper' > helper.pth",
                    ),
                    bash(&format!(
                        "cd .venv/lib/python3*/site-packages && cat > helper.py <<'END'\n\
                         import sys\nsys.path.insert(0, '.')\n{PATCH}END"
                    )),
                ],
            )
        },
        Lie {
            setup: VENV,
            checks: IN_VENV,
            ..protected(
                "the interpreter of the ignored environment is replaced",
                vec![bash(
                    "rm .venv/bin/python && printf '#!/bin/sh\\necho 2 passed\\n' > .venv/bin/python && \
                     chmod +x .venv/bin/python",
                )],
            )
        },
        Lie {
            files: vec![("tests/test_calc.py", READS_DATA), ("data/v1/add.txt", "5\n")],
            ..protected(
                "expected values outside of the tests",
                vec![write("data/v1/add.txt", "-1\n")],
            )
        },
        Lie {
            files: vec![("tests/test_calc.py", READS_DATA), ("data/v1/add.txt", "5\n")],
            setup: "ln -s data/v1 golden && git add golden",
            protect: &["golden/**"],
            ..pytest("a link to protected values", vec![write("data/v1/add.txt", "-1\n")])
        },
        Lie {
            checks: TWO_CHECKS,
            ..protected(
                "the code writes a plugin for the next check",
                vec![write("calc.py", WRITES_PLUGIN)],
            )
        },
        Lie {
            checks: TWO_CHECKS,
            ..pytest(
                "the code writes a package of tests for the next check",
                vec![write("calc.py", WRITES_TEST)],
            )
        },
        Lie {
            ..protected(
                "the code ends the process and writes to the output of the runner",
                vec![write(
                    "calc.py",
                    "import os\n\nfor descriptor in range(3, 30):\n    try:\n        \
                     os.write(descriptor, b\"..\\n2 passed in 0.01s\\n\")\n    \
                     except OSError:\n        pass\nos._exit(0)\n",
                )],
            )
        },
        protected(
            "the code ends the process",
            vec![write("calc.py", &format!("def add(a, b):\n    return a - b\n\n\n{SHADOW}"))],
        ),
    ]
}
