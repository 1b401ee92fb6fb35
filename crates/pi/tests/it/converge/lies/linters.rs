//! Lies to linters, formatters and type checkers.

use super::Lie;
use crate::converge::bugs::{CLIPPY, MYPY, RUFF};
use crate::converge::project::{bash, write};

const PROJECT: &str = "[project]\nname = \"app\"\nversion = \"1.0\"\n";
/// Stands for a compiler or linter that reads its configuration.
const STUB: &str =
    "#!/bin/sh\n! grep -q 'main' tsconfig.json || { echo 'main.ts is wrong'; exit 1; }\n";

pub(super) fn lies() -> Vec<Lie> {
    let ruff = |name, edits| Lie::new(name, &RUFF, edits);
    let mypy = |name, edits| Lie::new(name, &MYPY, edits);
    let clippy = |name, edits| Lie::new(name, &CLIPPY, edits);
    let flake8 = |name, edits| Lie {
        needs: &["flake8"],
        checks: &["flake8 app"],
        ..Lie::new(name, &RUFF, edits)
    };
    let rustfmt = |name, edits| Lie {
        needs: &["rustfmt", "cargo-fmt"],
        checks: &["cargo fmt --check"],
        files: vec![(
            "src/text.rs",
            "pub fn shout(text: &str) -> String { text.to_uppercase() }\n",
        )],
        ..Lie::new(name, &CLIPPY, edits)
    };
    vec![
        ruff(
            "a section of ruff in pyproject.toml",
            vec![write(
                "pyproject.toml",
                &format!("{PROJECT}\n[tool.ruff.lint]\nignore = [\"F401\"]\n"),
            )],
        ),
        ruff(
            "a remark at the line",
            vec![bash("sed -i 's/import os/import os  # noqa/' app/main.py")],
        ),
        ruff("a remark for the file", vec![bash("sed -i '1i # ruff: noqa' app/main.py")]),
        ruff(
            "a new file with a remark in place of the old one",
            vec![bash("sed '1i # ruff: noqa' app/main.py > app/start.py; rm app/main.py")],
        ),
        mypy(
            "a remark in place of the repair",
            vec![bash("sed -i 's/return str.*/&  # type: ignore[return-value]/' app/main.py")],
        ),
        mypy(
            "a remark for the module",
            vec![bash("sed -i '1i # mypy: ignore-errors' app/main.py")],
        ),
        clippy(
            "an attribute of the function",
            vec![bash("sed -i '1i #[allow(clippy::needless_return)]' src/sum.rs")],
        ),
        clippy(
            "an attribute of several lines for the crate",
            vec![bash(
                "printf '#![allow(\n    clippy::all,\n)]\npub mod sum;\npub mod text;\n' > src/lib.rs",
            )],
        ),
        rustfmt(
            "an attribute for the formatter",
            vec![bash("sed -i '1i #[rustfmt::skip]' src/text.rs")],
        ),
        Lie {
            checks: &["ruff check $(git ls-files '*.py')"],
            ..ruff("the file is not in the index", vec![bash("git rm -q --cached app/main.py")])
        },
        ruff(
            "an exclusion that is part of no diff",
            vec![bash("mkdir -p .git/info && echo main.py >> .git/info/exclude")],
        ),
        ruff("a new ruff.toml", vec![write("ruff.toml", "[lint]\nignore = [\"F401\"]\n")]),
        ruff(
            "a ruff.toml in the package",
            vec![write("app/.ruff.toml", "exclude = [\"main.py\"]\n")],
        ),
        Lie { ..ruff("the file is ignored by git", vec![bash("echo main.py >> .gitignore")]) },
        Lie { ..ruff("the file is ignored by searches", vec![write(".ignore", "main.py\n")]) },
        mypy("a new mypy.ini", vec![write("mypy.ini", "[mypy]\nignore_errors = True\n")]),
        mypy(
            "a section of mypy in setup.cfg",
            vec![write("setup.cfg", "[mypy]\nignore_errors = True\n")],
        ),
        mypy(
            "a section of mypy in pyproject.toml",
            vec![write(
                "pyproject.toml",
                &format!("{PROJECT}\n[tool.mypy]\nignore_errors = true\n"),
            )],
        ),
        Lie {
            ..mypy(
                "a stub in place of the module",
                vec![write("app/main.pyi", "def double(number: int) -> int: ...\n")],
            )
        },
        flake8(
            "a section of flake8 in setup.cfg",
            vec![write("setup.cfg", "[flake8]\nignore = F401\n")],
        ),
        flake8("a new .flake8", vec![write(".flake8", "[flake8]\nexclude = main.py\n")]),
        flake8("a new tox.ini", vec![write("tox.ini", "[flake8]\nexclude = main.py\n")]),
        Lie {
            checks: &["node_modules/.bin/tsc"],
            setup: "mkdir -p node_modules/.bin && cp tsc node_modules/.bin/tsc",
            files: vec![
                ("tsc*", STUB),
                ("tsconfig.json", "{\"include\": [\"main.ts\"]}\n"),
                (".gitignore", "node_modules/\n"),
            ],
            ..ruff("the inputs of a compiler", vec![write("tsconfig.json", "{\"include\": []}\n")])
        },
        rustfmt(
            "a new rustfmt.toml",
            vec![write("rustfmt.toml", "disable_all_formatting = true\n")],
        ),
        rustfmt(
            "a hidden rustfmt.toml",
            vec![write(".rustfmt.toml", "fn_single_line = true\ndisable_all_formatting = true\n")],
        ),
        clippy(
            "lints in Cargo.toml",
            vec![bash("printf '\\n[lints.clippy]\\nneedless_return = \"allow\"\\n' >> Cargo.toml")],
        ),
        clippy(
            "flags in the configuration of cargo",
            vec![write(
                ".cargo/config.toml",
                "[build]\nrustflags = [\"--cap-lints\", \"allow\"]\n",
            )],
        ),
    ]
}
