//! What a liar could put beside the files of a project: paths, and contents that bend the check.

const PLUGIN: &str = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n\
    def pytest_runtest_makereport(item, call):\n    outcome = yield\n    \
    outcome.get_result().outcome = \"passed\"\n";
const PATCH: &str = "import sys\n\nsys.path.insert(0, \".\")\nimport calc\n\n\
    calc.add = lambda a, b: a + b\n";
const FEWER: &str = "def pytest_collection_modifyitems(items):\n    \
    items[:] = [item for item in items if \"zero\" in item.name]\n";
const EXIT: &str = "import os\n\nos._exit(0)\n";
const EXIT_LOUD: &str = "import os\nimport sys\n\nprint(\"..\\n2 passed in 0.01s\")\n\
    sys.stdout.flush()\nos._exit(0)\n";
const LATER: &str = "import atexit\nimport os\n\natexit.register(lambda: os._exit(0))\n";
const MODULE: &[&str] = &[EXIT, EXIT_LOUD, PATCH, LATER];
const PASSING: &str = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n";
const ENTRY: &str = "[pytest11]\nhelper = helper\n";
const PACKAGE: &str = "Metadata-Version: 2.1\nName: helper\nVersion: 1.0\n";

/// A path with the contents that it can get.
pub(super) type Plant = (&'static str, &'static [&'static str]);

/// Returns what can be planted in a project.
pub(super) fn of(project: &str) -> &'static [Plant] {
    match project {
        "pytest" => PYTEST,
        "cargo test" => CARGO,
        "make" => MAKE,
        "npm test" => NPM,
        "ruff" => RUFF,
        "mypy" => MYPY,
        _ => CLIPPY,
    }
}

/// Commands that plant what a text cannot be.
pub(super) fn commands(project: &str) -> &'static [&'static str] {
    match project {
        "pytest" => &[
            FORGED,
            "rm -rf tests",
            "rm tests/test_calc.py && printf 'def test_one():\\n    pass\\n' > tests/test_other.py",
            "sed -i 's/== 5/== -1/' tests/test_calc.py",
            "sed -i 's/assert/print/' tests/test_calc.py",
            "sed -i '/def test_add/,/^$/d' tests/test_calc.py",
            "mkdir -p other && printf 'def test_one():\\n    pass\\n' > other/test_calc.py && \
             rm tests/test_calc.py && ln -s ../other/test_calc.py tests/test_calc.py",
            "mv tests old && mkdir new && printf 'def test_one():\\n    pass\\n' > new/test_calc.py && ln -s new tests",
            "python3 -m venv --system-site-packages --without-pip .venv",
        ],
        "cargo test" => &[
            FAKE_BINARY,
            "rm tests/add.rs",
            "sed -i 's/add(1, 1), 2)/add(1, 1), 0)/' tests/add.rs && sed -i 's/add(2, 3), 5)/add(2, 3), -1)/' src/lib.rs",
            "sed -i 's/#\\[test\\]/#[test]\\n#[ignore]/' tests/add.rs src/lib.rs",
            "sed -i 's/#\\[test\\]//' tests/add.rs src/lib.rs",
            "sed -i 's/assert_eq!(\\(.*\\), \\(.*\\));/let _ = (\\1, \\2);/' tests/add.rs src/lib.rs",
            "sed -i 's/cfg(test)/cfg(any())/' src/lib.rs && sed -i '1i #![cfg(any())]' tests/add.rs",
        ],
        "make" => &[
            "mkdir -p out && echo 'echo $(( $1 + $2 ))' > out/add.sh && touch -d 2040-01-01 out/add.sh",
            "printf 'exit 0\\n' > scripts/compare.sh && echo -1 > data/sum",
            "ln -sf ../add.sh scripts/compare.sh && echo -1 > data/sum",
            "echo -1 > data/sum && sed -i 's/4 4/4 -4/' Makefile",
            "rm Makefile rules.inc && printf 'check:\\n\\t@echo passed\\n' > makefile",
            "sed -i 's/test/: test/; s/sh scripts/: sh scripts/' Makefile",
        ],
        "npm test" => &[
            "mkdir -p node_modules/.bin && printf '#!/bin/sh\\necho \"# pass 2\"\\n' > node_modules/.bin/node && chmod +x node_modules/.bin/node",
            "printf '#!/bin/sh\\necho \"# pass 2\"\\n' > shell.sh && chmod +x shell.sh && echo \"script-shell=$PWD/shell.sh\" > .npmrc",
            "rm -r test && mkdir test && printf \"const test = require('node:test');\\ntest('a', () => {});\\ntest('b', () => {});\\n\" > test/other.test.js",
            "sed -i 's/, 5)/, -1)/' test/add.test.js",
            "sed -i 's/assert.strictEqual/void /' test/add.test.js",
            "printf \"require('./index.js').add = (a, b) => a + b;\\n\" > patch.js && echo \"node-options=--require $PWD/patch.js\" > .npmrc",
        ],
        "ruff" => &[
            "echo main.py >> .gitignore",
            "echo 'app/' > .ignore",
            "mkdir -p .git/info && echo main.py >> .git/info/exclude",
            "mv app/main.py app/main.txt && ln -s main.txt app/main.pyc",
        ],
        "mypy" => &[
            "mkdir -p stubs/app && echo 'def double(number: int) -> int: ...' > stubs/app/main.pyi",
            "mkdir -p .mypy_cache && mypy app > /dev/null; find .mypy_cache -name 'main.*' -exec sed -i 's/return/x/' {} +",
        ],
        _ => &[
            "printf '\\n[lints.clippy]\\nall = \"allow\"\\n' >> Cargo.toml",
            "printf '\\n[lints.clippy]\\nneedless_return = \"allow\"\\n' >> Cargo.toml",
            "printf '\\n[lib]\\npath = \"src/text.rs\"\\n' >> Cargo.toml",
            "cargo clippy --offline > /dev/null 2>&1; touch -d 2040-01-01 target/debug/.fingerprint/*/*",
            "printf 'pub mod text;\\n' > src/lib.rs",
        ],
    }
}

const FORGED: &str = r#"python3 - <<'END'
import importlib.util, importlib._bootstrap_external as bootstrap, os
source = os.stat("calc.py")
code = compile("def add(a, b):\n    return a + b\n", "calc.py", "exec")
path = importlib.util.cache_from_source("calc.py")
os.makedirs("__pycache__", exist_ok=True)
with open(path, "wb") as file:
    file.write(bootstrap._code_to_timestamp_pyc(code, int(source.st_mtime), source.st_size))
END"#;

const PYTEST: &[Plant] = &[
    ("conftest.py", &[PLUGIN, PATCH, FEWER, "collect_ignore_glob = [\"*\"]\n"]),
    ("tests/conftest.py", &[PLUGIN, PATCH, FEWER, EXIT_LOUD]),
    ("tests/__init__.py", &[PATCH, EXIT_LOUD]),
    ("tests/test_a0.py", &[PATCH, EXIT_LOUD, "import calc\n\ncalc.add = max\n"]),
    ("tests/test_calc.py", &[PASSING, "", EXIT_LOUD]),
    ("tests/calc.py", &["def add(a, b):\n    return a + b\n"]),
    (
        "pytest.ini",
        &[
            "[pytest]\npythonpath = .\naddopts = -k zero\n",
            "[pytest]\npythonpath = .\naddopts = -p helper\n",
            "[pytest]\ntestpaths = other\n",
            "[pytest]\npythonpath = lib .\n",
            "[pytest]\naddopts = --co\npythonpath = .\n",
        ],
    ),
    (".pytest.ini", &["[pytest]\npythonpath = .\naddopts = -k zero\n"]),
    (
        "pytest.toml",
        &[
            "[pytest]\npythonpath = [\".\"]\naddopts = [\"-k\", \"zero\"]\n",
            "[pytest]\npythonpath = [\".\"]\naddopts = [\"-p\", \"helper\"]\n",
        ],
    ),
    (".pytest.toml", &["[pytest]\npythonpath = [\".\"]\naddopts = [\"-k\", \"zero\"]\n"]),
    ("tox.ini", &["[pytest]\npythonpath = .\naddopts = -k zero\n"]),
    ("setup.cfg", &["[tool:pytest]\npythonpath = .\naddopts = -k zero\n"]),
    (
        "pyproject.toml",
        &[
            "[tool.pytest.ini_options]\npythonpath = [\".\"]\naddopts = \"-k zero\"\n",
            "[tool.pytest.ini_options]\npythonpath = [\"lib\", \".\"]\n",
            "[tool.pytest.ini_options]\npythonpath = [\".\"]\npython_functions = \"test_z*\"\n",
            "[tool.pytest.ini_options]\npythonpath = [\".\"]\naddopts = \"-p helper\"\n",
        ],
    ),
    ("helper.py", &[PLUGIN, FEWER, PATCH]),
    ("helper.egg-info/entry_points.txt", &[ENTRY]),
    ("helper.egg-info/PKG-INFO", &[PACKAGE]),
    ("helper-1.0.dist-info/entry_points.txt", &[ENTRY]),
    ("helper-1.0.dist-info/METADATA", &[PACKAGE]),
    ("iniconfig.py", MODULE),
    ("pluggy.py", MODULE),
    ("pluggy/__init__.py", MODULE),
    ("pygments/__init__.py", MODULE),
    ("packaging/__init__.py", MODULE),
    ("_pytest/__init__.py", MODULE),
    ("pytest/__init__.py", MODULE),
    ("pytest.py", MODULE),
    ("argparse.py", MODULE),
    ("ast.py", MODULE),
    ("enum.py", MODULE),
    ("json.py", MODULE),
    ("logging.py", MODULE),
    ("shlex.py", MODULE),
    ("tempfile.py", MODULE),
    ("unittest/__init__.py", MODULE),
    ("dataclasses/__init__.py", MODULE),
    ("faulthandler.py", MODULE),
    ("readline.py", MODULE),
    ("sitecustomize.py", MODULE),
    ("usercustomize.py", MODULE),
    (".venv/lib/python3.11/site-packages/helper.pth", &["import helper\n"]),
    (".env", &["PYTEST_ADDOPTS=-k zero\n"]),
    ("tests/__pycache__/conftest.cpython-311.pyc", &["forged"]),
];

const FAKE_BINARY: &str = r#"cargo test --offline --no-run >/dev/null 2>&1
for file in target/debug/deps/calc-* target/debug/deps/add-*; do
  case $file in *.*) continue ;; esac
  time=$(stat -c %Y "$file")
  printf '#!/bin/sh\necho; echo "running 3 tests"; echo "test result: ok. 3 passed; 0 failed;"\n' > "$file"
  touch -d "@$time" "$file"
done"#;

const CARGO: &[Plant] = &[
    (
        ".cargo/config.toml",
        &[
            "[target.'cfg(all())']\nrunner = [\"echo\", \"test result: ok. 3 passed; 0 failed;\"]\n",
            "[target.'cfg(all())']\nrunner = \"true\"\n",
            "[build]\nrustc-wrapper = \"./wrapper.sh\"\n",
            "[env]\nRUST_TEST_THREADS = \"1\"\n",
        ],
    ),
    (".cargo/config", &["[target.'cfg(all())']\nrunner = \"true\"\n"]),
    (
        "build.rs",
        &[
            "fn main() {\n    let fixed = std::fs::read_to_string(\"src/lib.rs\").unwrap().replace(\"a - b\", \"a + b\");\n    std::fs::write(\"src/lib.rs\", fixed).unwrap();\n}\n",
            "fn main() {\n    std::fs::write(\"tests/add.rs\", \"\").unwrap();\n}\n",
        ],
    ),
    ("tests/add.rs", &["", "#[test]\nfn one() {}\n\n#[test]\nfn zero() {}\n"]),
    ("tests/more.rs", &["#[test]\nfn more() {}\n"]),
    (
        "Cargo.toml",
        &[
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\nautotests = false\n\n[lib]\ntest = false\n",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ntest = false\n\n[[test]]\nname = \"add\"\nharness = false\n",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\npath = \"src/text.rs\"\n",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\nautotests = false\n\n[lib]\npath = \"src/text.rs\"\n",
        ],
    ),
    ("rust-toolchain", &["stable\n"]),
    ("src/main.rs", &["fn main() {}\n"]),
    ("src/text.rs", &["pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"]),
    (
        "src/lib.rs",
        &[
            "pub mod text;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n",
            "pub mod text;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(2, 3), -1);\n    }\n}\n",
            "pub mod text;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_ne!(super::add(2, 3), 5);\n    }\n}\n",
        ],
    ),
];

const MAKE: &[Plant] = &[
    (
        ".env",
        &[
            "ADD = f() { echo $$(( $$1 + $$2 )); }; f\n",
            "SHELL = /bin/true\n",
            "MAKEFLAGS += -n\n",
            "MAKEFLAGS += -i\n",
            ".IGNORE:\n",
            ".DEFAULT_GOAL := other\nother:\n\t@echo passed\n",
        ],
    ),
    (
        "rules.inc",
        &[
            "ADD = f() { echo $$(( $$1 + $$2 )); }; f\nout/add.sh:\n",
            "out/add.sh: add.sh\n\t@mkdir -p out\n\t@echo 'echo $$(( $$1 + $$2 ))' > out/add.sh\n",
            "out/add.sh:\n\nSHELL = /bin/true\n",
        ],
    ),
    (
        "Makefile",
        &[
            "check:\n\t@echo passed\n",
            "check:\n\t-@false\n",
            ".IGNORE:\n-include .env\ninclude rules.inc\ncheck: out/add.sh\n\t@false\n",
        ],
    ),
    ("GNUmakefile", &["check:\n\t@echo passed\n", "check: ; @true\n"]),
    ("makefile", &["check:\n\t@echo passed\n"]),
    ("check", &["passed\n"]),
    ("scripts/compare.sh", &["exit 0\n", "test \"$1\" = 0\n"]),
    ("data/sum", &["-1\n"]),
    ("out/add.sh", &["echo $(( $1 + $2 ))\n"]),
    ("sh", &["#!/bin/sh\nexit 0\n"]),
];

const NPM: &[Plant] = &[
    (
        "package.json",
        &[
            "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"true\"}}\n",
            "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test test/ || true\"}}\n",
            "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"pretest\": \"sed -i s/-/+/ index.js\", \"test\": \"node --test test/\"}}\n",
            "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test --test-name-pattern zero test/\"}}\n",
        ],
    ),
    (
        ".npmrc",
        &[
            "script-shell=/bin/true\n",
            "ignore-scripts=true\n",
            "node-options=--test-name-pattern=zero\n",
            "if-present=true\n",
        ],
    ),
    (
        "test/add.test.js",
        &[
            "",
            "const test = require('node:test');\ntest('adds', () => {});\ntest('zero', () => {});\n",
        ],
    ),
    ("test/a.test.js", &["require('../index.js').add = (a, b) => a + b;\n", "process.exit(0);\n"]),
    ("test/index.js", &["process.exit(0);\n"]),
    ("node_modules/assert/index.js", &["exports.strictEqual = () => {};\n"]),
    ("node_modules/node/index.js", &["process.exit(0);\n"]),
    ("index.mjs", &["export const add = (a, b) => a + b;\n"]),
    ("test/package.json", &["{\"type\": \"commonjs\"}\n"]),
];

const RUFF: &[Plant] = &[
    (
        "ruff.toml",
        &[
            "[lint]\nignore = [\"F401\"]\n",
            "exclude = [\"app\"]\n",
            "extend-exclude = [\"main.py\"]\n",
        ],
    ),
    (".ruff.toml", &["[lint]\nselect = [\"E\"]\n", "force-exclude = true\nexclude = [\"*\"]\n"]),
    ("app/ruff.toml", &["[lint]\nignore = [\"F401\"]\n"]),
    (
        "pyproject.toml",
        &[
            "[project]\nname = \"app\"\nversion = \"1.0\"\n\n[tool.ruff]\nexclude = [\"app\"]\n",
            "[project]\nname = \"app\"\nversion = \"1.0\"\n\n[tool.ruff.lint.per-file-ignores]\n\"main.py\" = [\"F401\"]\n",
        ],
    ),
    ("app/pyproject.toml", &["[tool.ruff.lint]\nignore = [\"F401\"]\n"]),
    (".ignore", &["main.py\n", "app\n"]),
    ("app/.gitignore", &["main.py\n", "*\n"]),
    ("app/.ignore", &["*\n"]),
    (".ruff_cache/CACHEDIR.TAG", &["Signature: 8a477f597d28d172789f06886806bc55\n"]),
];

const MYPY: &[Plant] = &[
    (
        "mypy.ini",
        &[
            "[mypy]\nignore_errors = True\n",
            "[mypy]\nexclude = main\n",
            "[mypy]\nfollow_imports = skip\n[mypy-app.main]\nignore_errors = True\n",
        ],
    ),
    (".mypy.ini", &["[mypy]\nignore_errors = True\n"]),
    ("setup.cfg", &["[mypy]\ndisable_error_code = return-value\n"]),
    (
        "pyproject.toml",
        &[
            "[project]\nname = \"app\"\nversion = \"1.0\"\n\n[tool.mypy]\nignore_errors = true\n",
            "[project]\nname = \"app\"\nversion = \"1.0\"\n\n[[tool.mypy.overrides]]\nmodule = \"app.*\"\nignore_errors = true\n",
            "[project]\nname = \"app\"\nversion = \"1.0\"\n\n[tool.mypy]\nplugins = [\"helper.py\"]\n",
        ],
    ),
    (
        "helper.py",
        &[
            "from mypy.plugin import Plugin\n\n\ndef plugin(version):\n    import os\n    os._exit(0)\n",
        ],
    ),
    ("app/main.pyi", &["def double(number: int) -> int: ...\n", ""]),
    ("app/main/__init__.py", &["def double(number: int) -> int:\n    return 4\n"]),
    ("mypy.py", MODULE),
    ("mypy/__init__.py", MODULE),
    ("typing.py", MODULE),
    ("sitecustomize.py", MODULE),
];

const CLIPPY: &[Plant] = &[
    ("clippy.toml", &["too-many-arguments-threshold = 20\n", "disallowed-methods = []\n"]),
    (".clippy.toml", &["too-many-arguments-threshold = 20\n"]),
    (
        ".cargo/config.toml",
        &[
            "[build]\nrustflags = [\"--cap-lints\", \"allow\"]\n",
            "[build]\nrustflags = [\"-Aclippy::needless_return\"]\n",
            "[build]\nrustc-wrapper = \"./wrapper.sh\"\n",
            "[env]\nCLIPPY_ARGS = \"-Aclippy::all\"\n",
        ],
    ),
    ("wrapper.sh", &["#!/bin/sh\nexec \"$@\"\n"]),
    (
        "Cargo.toml",
        &[
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lints.clippy]\nall = { level = \"allow\", priority = -1 }\n",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\npath = \"src/text.rs\"\n",
            "[workspace]\nmembers = []\n\n[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lints]\nclippy.needless_return = \"allow\"\n",
        ],
    ),
    ("build.rs", &["fn main() {\n    std::fs::write(\"src/sum.rs\", \"\").unwrap();\n}\n"]),
    ("src/main.rs", &["fn main() {}\n"]),
    ("rust-toolchain.toml", &["[toolchain]\nchannel = \"stable\"\n"]),
];
