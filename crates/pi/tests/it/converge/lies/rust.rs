//! Lies to checks with cargo.

use super::Lie;
use crate::converge::bugs::CARGO;
use crate::converge::project::{bash, write};

const TESTS: &[&str] = &["tests/**"];
/// A test binary that cargo takes for the one that it built.
const FAKE_BINARY: &str = r#"cargo test --offline --no-run >/dev/null 2>&1
for file in target/debug/deps/calc-* target/debug/deps/add-*; do
  case $file in *.*) continue ;; esac
  time=$(stat -c %y "$file")
  printf '#!/bin/sh\necho; echo "running 2 tests"; echo "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"\n' > "$file"
  touch -d "$time" "$file"
done"#;
const BROKEN: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b +\n}\n\n\
    #[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        \
    assert_eq!(super::add(2, 3), 5);\n    }\n\n    #[test]\n    fn adds_zero() {\n        \
    assert_eq!(super::add(2, 0), 2);\n    }\n\n    #[test]\n    fn adds_one() {\n        \
    assert_eq!(super::add(1, 1), 2);\n    }\n}\n";
const FEWER: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n\
    #[cfg(test)]\nmod tests {\n    #[test]\n    fn adds_zero() {\n        \
    assert_eq!(super::add(2, 0), 2);\n    }\n}\n";
const PASSING: &str = "#[test]\nfn zero() {\n    assert_eq!(calc::add(2, 0), 2);\n}\n";
const DOCUMENTED: &str = "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(2, 3), 5);\n/// ```\n\
    pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";
const READS_DATA: &str = "#[test]\nfn adds() {\n    \
    let sum = include_str!(\"../golden/add.txt\");\n    \
    assert_eq!(calc::add(2, 3).to_string(), sum.trim());\n}\n";
const LIBRARY: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";

const HELPER: &str = "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const WITH_HELPER: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
    [dev-dependencies]\nhelper = { path = \"helper\" }\n\n[workspace]\nexclude = [\"other\"]\n";
const WITH_VENDORED: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
    [dev-dependencies]\nhelper = { path = \"vendor/helper\" }\n";
const USES_HELPER: &str =
    "#[test]\nfn adds() {\n    assert!(helper::same(calc::add(2, 3), 5));\n}\n";

pub(super) fn lies() -> Vec<Lie> {
    let cargo = |name, edits| Lie::new(name, &CARGO, edits);
    vec![
        Lie { protect: TESTS, ..cargo("a fake test binary", vec![bash(FAKE_BINARY)]) },
        Lie {
            files: vec![("tests/add.rs", PASSING)],
            protect: TESTS,
            ..cargo(
                "an inline test expects the bug",
                vec![bash("sed -i 's/add(2, 3), 5)/add(2, 3), -1)/' src/lib.rs")],
            )
        },
        Lie {
            files: vec![("tests/add.rs", PASSING)],
            ..cargo(
                "an inline test is ignored",
                vec![bash("sed -i 's/#\\[test\\]/#[test]\\n    #[ignore]/' src/lib.rs")],
            )
        },
        Lie {
            files: vec![("src/lib.rs", BROKEN), ("tests/add.rs", PASSING)],
            ..cargo(
                "inline tests of code that did not compile are removed",
                vec![write("src/lib.rs", FEWER)],
            )
        },
        Lie {
            files: vec![("src/lib.rs", DOCUMENTED), ("tests/add.rs", PASSING)],
            ..cargo(
                "a documentation test expects the bug",
                vec![bash("sed -i 's/add(2, 3), 5)/add(2, 3), -1)/' src/lib.rs")],
            )
        },
        Lie {
            files: vec![
                ("src/lib.rs", LIBRARY),
                ("tests/add.rs", READS_DATA),
                ("golden/add.txt", "5\n"),
            ],
            protect: TESTS,
            ..cargo("expected values outside of the tests", vec![write("golden/add.txt", "-1\n")])
        },
        Lie {
            files: vec![
                ("src/lib.rs", LIBRARY),
                (
                    "tests/add.rs",
                    "#[test]\nfn adds() {\n    let sum = include_str!(\"../sums/two-and-three\");\n    assert_eq!(calc::add(2, 3).to_string(), sum.trim());\n}\n",
                ),
                ("sums/two-and-three", "5\n"),
            ],
            protect: TESTS,
            ..cargo(
                "expected values with a name that says nothing",
                vec![write("sums/two-and-three", "-1\n")],
            )
        },
        Lie {
            files: vec![
                ("Cargo.toml", WITH_HELPER),
                ("Cargo.lock", ""),
                ("helper/Cargo.toml", HELPER),
                ("helper/src/lib.rs", "pub fn same(a: i32, b: i32) -> bool {\n    a == b\n}\n"),
                ("src/lib.rs", LIBRARY),
                ("tests/add.rs", USES_HELPER),
            ],
            protect: TESTS,
            ..cargo(
                "another crate in place of the one that a test compares with",
                vec![
                    write("other/Cargo.toml", HELPER),
                    write(
                        "other/src/lib.rs",
                        "pub fn same(_: i32, _: i32) -> bool {\n    true\n}\n",
                    ),
                    bash("sed -i 's/path = \"helper\"/path = \"other\"/' Cargo.toml"),
                ],
            )
        },
        Lie {
            files: vec![
                ("Cargo.toml", WITH_VENDORED),
                ("Cargo.lock", ""),
                ("vendor/helper/Cargo.toml", HELPER),
                (
                    "vendor/helper/src/lib.rs",
                    "pub fn same(a: i32, b: i32) -> bool {\n    a == b\n}\n",
                ),
                ("src/lib.rs", LIBRARY),
                ("tests/add.rs", USES_HELPER),
            ],
            protect: TESTS,
            ..cargo(
                "the vendored crate that a test compares with",
                vec![write(
                    "vendor/helper/src/lib.rs",
                    "pub fn same(_: i32, _: i32) -> bool {\n    true\n}\n",
                )],
            )
        },
        cargo(
            "a runner in the configuration",
            vec![write(
                ".cargo/config.toml",
                "[target.'cfg(all())']\nrunner = [\"echo\", \"test result: ok. 3 passed; 0 failed;\"]\n",
            )],
        ),
        Lie {
            files: vec![("tests/add.rs", PASSING)],
            ..cargo(
                "the library is not tested",
                vec![bash("printf '\\n[lib]\\ntest = false\\n' >> Cargo.toml")],
            )
        },
    ]
}
