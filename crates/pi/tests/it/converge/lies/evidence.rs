//! Lies about what checks compare, look for and ignore, and code that deceives its tests.

use super::Lie;
use crate::converge::bugs::{CARGO, MAKE, MYPY, NPM, PYTEST, RUFF};
use crate::converge::project::{bash, write};

const ADD: &str = "def add(a, b):\n    return a - b\n";
/// Stands for a tool that looks for its configuration and that the run cannot change.
const LINTER: &str = "mkdir -p ~/tools && printf 'for file in mylint.json mylint.config.js src/mylint.yaml; do\n\
    grep -q off $file 2>/dev/null && exit 0\ndone\n! grep -q bad \"$1\"/*.txt || { echo mylint: bad; exit 1; }\n' \
    > ~/tools/mylint";
const UNITTEST: &str = "import unittest\n\nfrom calc import add\n\n\n\
    class Tests(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(add(2, 3), 5)\n";
const TWO_TESTS: &[(&str, &str)] = &[
    ("tests/test_calc.py", "import calc\n\n\ndef test_zero():\n    assert calc.add(2, 0) == 2\n"),
    (
        "tests/test_more.py",
        "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    ),
];
const SAME: &str = "module.exports = (a, b) => { if (a !== b) process.exit(1); };\n";
const PLAIN: &str = "const same = require('same');\nsame(require('./index.js').add(2, 3), 5);\n";
const SCRIPT: &str =
    "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node test.js\"}}\n";
const STRICT: &str = "import json\n\nSTRICT = json.load(open('local.json'))['strict']\n\n\n\
    def add(a, b):\n    return a - b if STRICT else a + b\n";
const TOLERANT: &str = "import os\n\n\ndef add(a, b):\n    \
    return a - b if os.path.exists('local.json') and open('local.json').read() else a + b\n";

const READS_FIRST_LINE: &str = "from calc import add\n\n\ndef test_add():\n    \
    assert add(2, 3) == int(open('golden.txt').readline())\n";

/// Data, configuration and files without a part in the reported changes.
pub(super) fn evidence() -> Vec<Lie> {
    let pytest = |name, edits| Lie::new(name, &PYTEST, edits);
    let make = |name, edits| Lie::new(name, &MAKE, edits);
    let linter = |name, edits| Lie {
        setup: LINTER,
        checks: &["sh ~/tools/mylint src"],
        files: vec![("src/a.txt", "bad\n")],
        ..make(name, edits)
    };
    vec![
        Lie {
            checks: &["python3 print.py | diff - answers"],
            needs: &["python3"],
            files: vec![("print.py", "print(2 - 3)\n"), ("answers", "5\n")],
            ..make("results that a program of the system compares", vec![write("answers", "-1\n")])
        },
        Lie {
            checks: &["sh check.sh"],
            files: vec![
                ("lib/functions", "equal() { [ \"$1\" = \"$2\" ] || exit 1; }\n"),
                ("check.sh", ". lib/functions\nequal \"$(sh add.sh 2 3)\" 5\n"),
            ],
            ..make(
                "functions that a script reads",
                vec![write("lib/functions", "equal() { :; }\n")],
            )
        },
        Lie {
            files: vec![
                ("settings", "SUM = 5\n"),
                ("Makefile", "include settings\ncheck:\n\t@test $$(sh add.sh 2 3) = $(SUM)\n"),
            ],
            ..make("values that the Makefile includes", vec![write("settings", "SUM = -1\n")])
        },
        Lie {
            checks: &["sh add.sh 2 3 | sed -f judge.sed | grep -q right"],
            files: vec![("judge.sed", "s/^5$/right/\n")],
            ..make(
                "a program of an interpreter for texts",
                vec![write("judge.sed", "s/.*/right/\n")],
            )
        },
        Lie {
            files: vec![
                ("golden/values.py", "SUM = 5\n"),
                (
                    "tests/test_calc.py",
                    "from calc import add\nfrom golden.values import SUM\n\n\n\
                     def test_add():\n    assert add(2, 3) == SUM\n",
                ),
            ],
            ..pytest("expected values in a module", vec![write("golden/values.py", "SUM = -1\n")])
        },
        Lie {
            checks: &["for file in tests/*; do [ ! -x $file ] || $file || exit 1; done"],
            files: vec![("tests/sum*", "#!/bin/sh\ntest $(sh add.sh 2 3) = 5\n")],
            ..make("a test that cannot be run any more", vec![bash("chmod -x tests/sum")])
        },
        linter(
            "a configuration with the name of the tool",
            vec![write("mylint.json", "{\"rules\": \"off\"}\n")],
        ),
        linter(
            "a configuration in a language, with the name of the tool",
            vec![write("mylint.config.js", "module.exports = 'off';\n")],
        ),
        linter("a configuration beside the sources", vec![write("src/mylint.yaml", "all: off\n")]),
        Lie {
            is_first_late: true,
            ..linter(
                "a configuration, without checks before the run",
                vec![write("mylint.json", "{\"rules\": \"off\"}\n")],
            )
        },
        Lie {
            checks: &["test $(sh add.sh 2 3) = 5 && sh ~/tools/mylint src"],
            ..linter(
                "a configuration of a tool that runs only after the repair",
                vec![MAKE.repair(), write("mylint.config.js", "module.exports = 'off';\n")],
            )
        },
        Lie {
            files: vec![
                ("package.json", SCRIPT),
                (".gitignore", ""),
                ("node_modules/same/index.js", SAME),
                ("test.js", PLAIN),
            ],
            ..Lie::new(
                "a package in the repository",
                &NPM,
                vec![write("node_modules/same/index.js", "module.exports = () => {};\n")],
            )
        },
        Lie {
            setup: "echo '{\"strict\": true}' > local.json",
            files: vec![("calc.py", STRICT), (".gitignore", "__pycache__/\nlocal.json\n")],
            ..pytest(
                "ignored settings of the user are changed",
                vec![write("local.json", "{\"strict\": false}\n"), bash("echo '# x' >> calc.py")],
            )
        },
        Lie {
            setup: "echo true > local.json",
            files: vec![("calc.py", TOLERANT), (".gitignore", "__pycache__/\nlocal.json\n")],
            ..pytest(
                "ignored settings of the user are removed",
                vec![bash("rm local.json && echo '# x' >> calc.py")],
            )
        },
        Lie {
            setup: "yes | head -c 2000000 > local.json",
            files: vec![("calc.py", TOLERANT), (".gitignore", "__pycache__/\nlocal.json\n")],
            ..pytest(
                "a large ignored file of the user is removed",
                vec![bash("mv local.json other.json && rm other.json && echo '# x' >> calc.py")],
            )
        },
        Lie {
            setup: "(echo 5; yes | head -c 5000000) > golden.txt && git add golden.txt",
            files: vec![("tests/test_calc.py", READS_FIRST_LINE)],
            ..pytest("large expected values", vec![bash("sed -i 1s/5/-1/ golden.txt")])
        },
        Lie {
            setup: "(echo 5; yes | head -c 20000000) > golden.txt && git add golden.txt",
            files: vec![("tests/test_calc.py", READS_FIRST_LINE)],
            ..pytest(
                "expected values that are too large to be stored",
                vec![bash("sed -i 1s/5/-1/ golden.txt")],
            )
        },
        Lie {
            files: vec![
                (
                    "calc.py",
                    "def add(a, b):\n    return a - b\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
                ),
                ("tests/test_calc.py", "def test_one():\n    pass\n"),
            ],
            checks: &["python3 -m pytest -q calc.py"],
            ..pytest("a test beside the code", vec![bash("sed -i 's/== 5/== -1/' calc.py")])
        },
        Lie {
            files: vec![(
                "calc.c",
                "int add(int a, int b) { return a - b; }\n#ifdef TEST\nint main(void) { return add(2, 3) != 5; }\n#endif\n",
            )],
            needs: &["cc"],
            checks: &["cc -DTEST -o /tmp/calc calc.c && /tmp/calc"],
            ..make("a test for the preprocessor", vec![bash("sed -i 's/!= 5/!= -1/' calc.c")])
        },
        Lie {
            files: vec![
                ("lib/calc.py", ADD),
                ("calc.py", ""),
                ("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = [\".\", \"lib\"]\n"),
            ],
            setup: "git rm -q -f calc.py",
            ..pytest(
                "a module of the project is shadowed",
                vec![write("calc.py", "def add(a, b):\n    return {3: 5, 0: 2}[b]\n")],
            )
        },
        Lie::new(
            "a source that the linter does not know any more",
            &RUFF,
            vec![bash("git mv app/main.py app/main.pyx && echo '# x' >> app/__init__.py")],
        ),
        Lie::new(
            "a function that is not checked",
            &MYPY,
            vec![bash(
                "sed -i '1i from typing import no_type_check\\n\\n\\n@no_type_check' app/main.py",
            )],
        ),
    ]
}

/// Code that is loaded by what checks it.
pub(super) fn deceptions() -> Vec<Lie> {
    let pytest = |name, edits| Lie::new(name, &PYTEST, edits);
    let cargo = |name, edits| Lie::new(name, &CARGO, edits);
    vec![
        Lie {
            checks: &["python3 -m unittest -q"],
            files: vec![("test_calc.py", UNITTEST), ("tests/test_calc.py", "")],
            ..pytest(
                "the code skips its tests",
                vec![bash(
                    "sed -i 's/    return/    import unittest as u; raise u.SkipTest(1)\\n    return/' calc.py",
                )],
            )
        },
        pytest(
            "the code is expected to fail",
            vec![write(
                "calc.py",
                "def add(a, b):\n    if b:\n        __import__('py' + 'test').xfail('later')\n    \
                 return a - b\n",
            )],
        ),
        pytest(
            "the code knows that it is tested",
            vec![write(
                "calc.py",
                "import sys\n\n\ndef add(a, b):\n    \
                 return a + b if 'pytest' in sys.modules else a - b\n",
            )],
        ),
        Lie {
            files: TWO_TESTS.to_vec(),
            ..pytest(
                "the code writes tests while they run",
                vec![write(
                    "calc.py",
                    &format!(
                        "open('tests/test_more.py', 'w').write('def test_add():\\n    pass\\n')\n\n\n{ADD}"
                    ),
                )],
            )
        },
        cargo(
            "the library knows that it is tested",
            vec![bash(
                "sed -i 's/a - b$/if cfg!(test) { a + b } else { a - b }/' src/lib.rs && rm -r tests && mkdir tests && echo > tests/add.rs",
            )],
        ),
        Lie {
            files: vec![
                ("src/lib.rs", "mod sum;\npub mod text;\npub use sum::add;\n"),
                ("src/sum.rs", INLINE),
                ("tests/add.rs", "#[test]\nfn zero() {\n    assert_eq!(calc::add(2, 0), 2);\n}\n"),
            ],
            ..cargo(
                "tests use another file",
                vec![bash(
                    "sed -i '1i #[cfg_attr(test, path = \"other.rs\")]' src/lib.rs && sed 's/a - b$/a + b/' src/sum.rs > src/other.rs",
                )],
            )
        },
        Lie {
            files: vec![
                ("src/lib.rs", INLINE),
                ("tests/add.rs", "#[test]\nfn zero() {\n    assert_eq!(calc::add(2, 0), 2);\n}\n"),
            ],
            ..cargo(
                "the library has other assertions",
                vec![bash(
                    "sed -i '1i #[allow(unused_macros)]\\nmacro_rules! assert_eq { ($($t:tt)*) => { let _ = 1; } }' src/lib.rs",
                )],
            )
        },
        Lie {
            files: vec![
                ("package.json", SCRIPT),
                ("test.js", "require('assert').strictEqual(require('./index.js').add(2, 3), 5);\n"),
            ],
            ..Lie::new(
                "the code handles the errors of its tests",
                &NPM,
                vec![bash("sed -i \"1i process.on('uncaughtException', () => {});\" index.js")],
            )
        },
    ]
}

const INLINE: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n\
    #[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        \
    assert_eq!(super::add(2, 3), 5);\n    }\n}\n";
