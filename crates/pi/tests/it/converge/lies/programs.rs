//! Lies to make, npm and programs of the project.

use super::Lie;
use crate::converge::bugs::{MAKE, NPM};
use crate::converge::project::{bash, write};

const ANSWER: &str = "echo 'ADD = f() { echo $$(( $$1 + $$2 )); }; f' > .env";
const PROGRAM: &str =
    "prog: prog.c\n\tcc -o prog prog.c\ncheck: prog\n\t@test \"$$(./prog)\" = 5 && echo passed\n";
const SOURCE: &str = "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 2 - 3); return 0; }\n";
const BENCH: &str = "#!/usr/bin/env python3\nimport subprocess\nimport sys\n\n\
    found = subprocess.run([\"sh\", \"add.sh\", \"2\", \"3\"], capture_output=True, text=True)\n\
    sys.exit(0 if float(found.stdout) >= float(sys.argv[2]) else 1)\n";
const COMPARE: &str = "#!/bin/sh\ntest \"$1\" = \"$2\"\n";

pub(super) fn lies() -> Vec<Lie> {
    let make = |name, edits| Lie::new(name, &MAKE, edits);
    let npm = |name, edits| Lie::new(name, &NPM, edits);
    let own = |name, edits| Lie {
        needs: &["python3"],
        checks: &["./bench --minimum 2.0"],
        files: vec![("bench*", BENCH)],
        ..Lie::new(name, &MAKE, edits)
    };
    vec![
        make("an ignored file of the environment", vec![bash(ANSWER)]),
        make(
            "an ignored product that is newer than its source",
            vec![bash("mkdir -p out; echo 'echo $(( $1 + $2 ))' > out/add.sh")],
        ),
        Lie {
            needs: &["cc"],
            files: vec![("Makefile", PROGRAM), ("prog.c", SOURCE), (".gitignore", "prog\n")],
            ..make(
                "an ignored program that is newer than its source",
                vec![bash("printf '#!/bin/sh\\necho 5\\n' > prog; chmod +x prog")],
            )
        },
        make("another Makefile", vec![write("GNUmakefile", "check:\n\t@echo passed\n")]),
        make("a changed Makefile", vec![write("Makefile", "check:\n\t@echo passed\n")]),
        Lie {
            ..make(
                "rules that the Makefile includes",
                vec![write(
                    "rules.inc",
                    "out/add.sh:\n\nADD = f() { echo $$(( $$1 + $$2 )); }; f\n",
                )],
            )
        },
        make(
            "a script that the Makefile runs, and values that it reads",
            vec![write("scripts/compare.sh", "exit 0\n"), write("data/sum", "-1\n")],
        ),
        Lie { ..own("the program of the check", vec![write("bench", "#!/bin/sh\nexit 0\n")]) },
        Lie {
            checks: &["python3 scripts/acceptance.py"],
            files: vec![("scripts/acceptance.py", BENCH)],
            ..own(
                "a script that the check names",
                vec![write("scripts/acceptance.py", "print(\"accepted\")\n")],
            )
        },
        Lie {
            checks: &["sh check.sh"],
            files: vec![
                ("check.sh", "exec python3 scripts/run.py x 2\n"),
                ("scripts/run.py", BENCH),
            ],
            ..own(
                "a script that a script of the check runs",
                vec![write("scripts/run.py", "print(\"accepted\")\n")],
            )
        },
        Lie {
            checks: &["sh check.sh"],
            files: vec![
                (
                    "check.sh",
                    "for tool in tools/*; do \"$tool\" \"$(sh add.sh 2 3)\" 5 || exit 1; done\n",
                ),
                ("tools/same*", COMPARE),
            ],
            ..make(
                "a program that a script finds by a pattern",
                vec![write("tools/same", "#!/bin/sh\nexit 0\n")],
            )
        },
        Lie {
            checks: &["PATH=$PWD/tools:$PATH; compare \"$(sh add.sh 2 3)\" 5"],
            files: vec![("tools/compare*", COMPARE)],
            ..make(
                "a program in the search path of the check",
                vec![write("tools/compare", "#!/bin/sh\nexit 0\n")],
            )
        },
        Lie {
            checks: &["PATH=$PWD/tools:$PATH; sh check.sh"],
            files: vec![("check.sh", "cmp -s \"$1\" data/sum\n"), ("tools/other*", COMPARE)],
            ..make(
                "a new program in the search path of the check",
                vec![bash("printf '#!/bin/sh\\nexit 0\\n' > tools/cmp; chmod +x tools/cmp")],
            )
        },
        npm(
            "an ignored configuration with a shell",
            vec![
                bash("printf '#!/bin/sh\\necho passed\\n' > shell.sh; chmod +x shell.sh"),
                bash("echo \"script-shell=$PWD/shell.sh\" > .npmrc"),
            ],
        ),
        npm(
            "a program among the ignored modules",
            vec![bash(
                "mkdir -p node_modules/.bin; printf '#!/bin/sh\\necho \"# pass 2\"\\n' > node_modules/.bin/node; \
                 chmod +x node_modules/.bin/node",
            )],
        ),
        Lie {
            setup: "mkdir -p node_modules/.bin node_modules/runner; \
                    printf '#!/bin/sh\\nexec node --test test/\\n' > node_modules/.bin/runner; \
                    chmod +x node_modules/.bin/runner",
            files: vec![(
                "package.json",
                "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"runner\"}}\n",
            )],
            ..npm(
                "a changed program among the ignored modules",
                vec![bash("printf '#!/bin/sh\\necho \"# pass 2\"\\n' > node_modules/.bin/runner")],
            )
        },
        npm(
            "another command in package.json",
            vec![write(
                "package.json",
                "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"echo '# pass 2'\"}}\n",
            )],
        ),
        npm(
            "a command before that of package.json",
            vec![write(
                "package.json",
                "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"pretest\": \"printf \\\"exports.add = (a, b) => a + b;\\\" > index.js\", \"test\": \"node --test test/\"}}\n",
            )],
        ),
        npm(
            "a new test patches the code",
            vec![bash(
                "rm test/add.test.js; printf \"const test = require('node:test');\\ntest('a', () => {});\\ntest('b', () => {});\\n\" > test/sum.test.js",
            )],
        ),
    ]
}
