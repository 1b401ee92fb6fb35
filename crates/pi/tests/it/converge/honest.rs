//! Honest work, which ends as converged: work that touches the files of the checks because the goal
//! says so or the user permits it, and work that has nothing to do with them.

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use super::bugs::{CARGO, MAKE, PYTEST};
use super::lies::VENV;
use super::project::{
    Edit, Project, bash, command_checks, create, passes, problems_of, run, shell, write,
};
use super::toolchain::has;
use crate::guard::rung;

/// A row of the table.
struct Honest {
    name: &'static str,
    project: &'static Project,
    /// Files in addition to those of the project, or instead of them.
    files: Vec<(&'static str, &'static str)>,
    /// What the user has beside the files of the repository.
    setup: &'static str,
    /// The contract; the check is that of the project if there is none.
    contract: Value,
    edits: Vec<Edit>,
    /// The exit codes that are right.
    codes: &'static [i32],
    /// What holds in the directory of the user at the end.
    holds: &'static str,
}

impl Honest {
    /// Work that ends with the repair of the bug.
    fn new(name: &'static str, project: &'static Project, mut edits: Vec<Edit>) -> Self {
        edits.push(project.repair());
        let (files, setup, contract) = (Vec::new(), "", json!({}));
        Self { name, project, files, setup, contract, edits, codes: &[0], holds: "true" }
    }

    /// Returns the reason why the row does not hold.
    fn problem(&self) -> Option<String> {
        let name = self.name;
        if !has(self.project.needs, name) {
            return None;
        }
        let mut files: Vec<(&str, &str)> = self.project.files.to_vec();
        files.retain(|(name, _)| !self.files.iter().any(|(other, _)| other == name));
        files.extend(&self.files);
        let env = create(&files);
        let output = shell(&env, self.setup);
        assert!(output.status.success(), "{name}: {output:?}");
        let mut contract = self.contract.clone();
        let more = std::mem::take(&mut contract["more"]);
        contract.as_object_mut().unwrap().remove("more");
        if contract.get("verify").is_none() {
            let mut verify = command_checks(&[self.project.check]);
            verify.extend(more.as_array().cloned().unwrap_or_default());
            contract["verify"] = json!(verify);
        }
        let run = run(&env, &self.edits, contract);
        let is_right =
            run.code.is_some_and(|code| self.codes.contains(&code)) && passes(&env, &[self.holds]);
        if !is_right {
            let (code, failures) = (run.code, run.failures());
            let problems = &run.report["problems"];
            return Some(format!("{name}: {code:?}: {failures} {problems} {}", run.stderr));
        }
        None
    }
}

const CRATE: &str = "[package]\nname = \"more\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const WORKSPACE: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
    [workspace]\nmembers = [\"crates/more\"]\n";

/// Work on the files of checks.
fn on_files_of_checks() -> Vec<Honest> {
    vec![
        Honest::new("a repair", &PYTEST, vec![]),
        Honest::new(
            "a new crate in the workspace",
            &CARGO,
            vec![
                write("crates/more/Cargo.toml", CRATE),
                write("crates/more/src/lib.rs", "pub fn more() {}\n"),
                write("Cargo.toml", WORKSPACE),
                bash("cargo metadata --offline --format-version 1 > /dev/null"),
            ],
        ),
        Honest {
            contract: json!({"goal": "Repair add and create a pytest.ini with the option -ra."}),
            ..Honest::new(
                "a configuration that the goal asks for",
                &PYTEST,
                vec![write("pytest.ini", "[pytest]\npythonpath = .\naddopts = -ra\n")],
            )
        },
        Honest {
            contract: json!({"goal": "Repair add. Add a conftest.py with a fixture."}),
            ..Honest::new(
                "a conftest.py that the goal asks for",
                &PYTEST,
                vec![write(
                    "conftest.py",
                    "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
                )],
            )
        },
        Honest {
            files: vec![("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"1.0\"\n")],
            contract: json!({
                "goal": "Write a Makefile with the target check, which runs the tests.",
                "verify": [{"command": "make check"}],
            }),
            ..Honest::new(
                "a Makefile that the goal asks for",
                &PYTEST,
                vec![write("Makefile", "check:\n\tpython3 -m pytest -q\n")],
            )
        },
        Honest {
            contract: json!({"may_change": ["Makefile", "rules.inc"]}),
            ..Honest::new(
                "a Makefile that the user permits to change",
                &MAKE,
                vec![
                    bash("printf '\\nclean:\\n\\trm -rf out\\n' >> Makefile"),
                    bash("echo '# Rules.' >> rules.inc"),
                ],
            )
        },
        Honest::new(
            "new dependencies and a new version in a manifest",
            &CARGO,
            vec![bash(
                "sed -i 's/^version.*/version = \"0.2.0\"/' Cargo.toml Cargo.lock && sed -i 's/^version = \"0.2.0\"$/&/' Cargo.lock && printf '\\n[features]\\nmore = []\\n' >> Cargo.toml && sed -i '1s/.*/version = 3/' Cargo.lock",
            )],
        ),
        Honest::new(
            "a new test beside the others",
            &PYTEST,
            vec![write(
                "tests/test_more.py",
                "from calc import add\n\n\ndef test_more():\n    assert add(1, 1) == 2\n",
            )],
        ),
        Honest::new(
            "a new inline test",
            &CARGO,
            vec![bash(
                "printf '\\n#[cfg(test)]\\nmod tests {\\n    #[test]\\n    fn shouts() {\\n        \
                 assert_eq!(super::shout(\"a\"), \"A\");\\n    }\\n}\\n' >> src/text.rs",
            )],
        ),
        Honest {
            edits: vec![
                CARGO.repair(),
                bash(
                    "git mv src/text.rs src/words.rs && sed -i 's/mod text/mod words/' src/lib.rs",
                ),
            ],
            ..Honest::new("a module with another name", &CARGO, vec![])
        },
        Honest::new(
            "remarks that no check needs",
            &CARGO,
            vec![bash(
                "sed -i '1i #![allow(dead_code)]' src/text.rs && sed -i '1i // prettier-ignore' src/text.rs",
            )],
        ),
        Honest::new(
            "a dependency of the workspace",
            &CARGO,
            vec![
                write("crates/more/Cargo.toml", CRATE),
                write("crates/more/src/lib.rs", "pub fn more() {}\n"),
                bash(
                    "printf '\\n[dependencies]\\nmore = { path = \"crates/more\" }\\n' >> Cargo.toml && cargo metadata --offline --format-version 1 > /dev/null",
                ),
            ],
        ),
        Honest {
            codes: &[0, 17],
            ..Honest::new(
                "an expectation is made stricter",
                &PYTEST,
                vec![bash(
                    "printf '\\n\\ndef test_negative():\\n    assert add(-1, -1) == -2\\n' >> tests/test_calc.py",
                )],
            )
        },
    ]
}

/// Work that has nothing to do with the files of checks.
fn on_other_files() -> Vec<Honest> {
    let explore = |command: &dyn Fn(u32) -> String| -> Vec<Edit> {
        (1..=13).map(|number| bash(&command(number))).collect()
    };
    vec![
        Honest {
            files: vec![
                (".gitignore", ""),
                ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"1.0\"\n"),
            ],
            contract: json!({"more": [{"files": {"allowed": ["calc.py"]}}]}),
            ..Honest::new(
                "caches without a .gitignore",
                &PYTEST,
                vec![bash("python3 -m pytest -q || python3 calc.py")],
            )
        },
        Honest {
            setup: "mkdir -p data/list && for n in $(seq 13); do echo \"name,value$n\" > data/list/$n.csv; done",
            ..Honest::new(
                "13 files that look alike are read",
                &MAKE,
                explore(&|number| format!("cat data/list/{number}.csv")),
            )
        },
        Honest::new(
            "13 searches that find nothing",
            &MAKE,
            explore(&|number| format!("grep -rn 'nothing{number}' scripts || echo none")),
        ),
        Honest {
            contract: json!({"limits": {"turns": 1}}),
            holds: "grep -q + add.sh",
            ..Honest::new("the work is done in the last turn", &MAKE, vec![])
        },
        Honest {
            setup: VENV,
            contract: json!({"verify": [{"command": ".venv/bin/python -m pytest -q"}]}),
            ..Honest::new(
                "the ignored environment of the user is used",
                &PYTEST,
                vec![bash(".venv/bin/python -m pytest -q")],
            )
        },
        Honest {
            setup: "mkdir out && echo 'the product of the user' > out/add.sh && touch -d 2001-01-01 out/add.sh",
            ..Honest::new(
                "the product of a build is old",
                &MAKE,
                vec![bash("make -s check || true")],
            )
        },
        Honest::new(
            "notes, documents and renamed files",
            &PYTEST,
            vec![
                write("docs/notes.md", "Notes.\n"),
                bash("git mv README.md ABOUT.md && rm -rf docs/old"),
                bash("python3 -m pytest -q > result.txt || true"),
            ],
        ),
        Honest::new(
            "commits of the agent",
            &PYTEST,
            vec![bash(
                "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m work",
            )],
        ),
        Honest {
            contract: json!({
                "goal": "Repair add.sh and commit the repair.",
                "verify": [{"command": "make -s check && git log -1 --format=%s | grep -q repair"}],
            }),
            ..Honest::new(
                "a commit that the goal asks for",
                &MAKE,
                vec![
                    MAKE.repair(),
                    bash(
                        "git add -A && git -c user.name=a -c user.email=a@example.com commit -qm repair",
                    ),
                ],
            )
        },
        Honest::new(
            "a script about tests that no check loads",
            &PYTEST,
            vec![write(
                "tools/run.py",
                "import sys\n\nimport pytest\n\npytest.main()\nsys.exit(0)\n",
            )],
        ),
        Honest {
            setup: "sh configure.sh",
            files: vec![
                (".gitignore", "settings\n"),
                ("configure.sh", "echo 'SUM = 5' > settings\n"),
                ("Makefile", "include settings\ncheck:\n\t@test $$(sh add.sh 2 3) = $(SUM)\n"),
            ],
            contract: json!({"goal": "Repair add.sh."}),
            ..Honest::new(
                "ignored settings are written again",
                &MAKE,
                vec![bash("sh configure.sh")],
            )
        },
        Honest {
            edits: vec![
                write("sign.toml", "sign = 1\n"),
                write(
                    "calc.py",
                    "import tomllib\n\nSIGN = tomllib.load(open('sign.toml', 'rb'))['sign']\n\n\n\
                     def add(a, b):\n    return a + SIGN * b\n",
                ),
            ],
            ..Honest::new("new data of the code that looks like configuration", &PYTEST, vec![])
        },
        Honest {
            files: vec![
                ("locales/en.json", "{\"a\": \"A\"}\n"),
                ("locales/de.json", "{}\n"),
                (
                    "check_locales.py",
                    "import json\n\nen, de = (json.load(open(f'locales/{name}.json')) for name in ['en', 'de'])\n\
                     assert en.keys() == de.keys()\n",
                ),
            ],
            contract: json!({"verify": [{"command": "python3 check_locales.py"}]}),
            edits: vec![write("locales/de.json", "{\"a\": \"Ä\"}\n")],
            ..Honest::new("data that only the script of a check reads", &PYTEST, vec![])
        },
        Honest {
            contract: json!({"workspace": {"mode": "worktree"}}),
            holds: "make -s check",
            ..Honest::new("a worktree", &MAKE, vec![])
        },
        Honest {
            contract: json!({"workspace": {"mode": "copy"}}),
            holds: "make -s check",
            ..Honest::new("a copy", &MAKE, vec![bash("make -s check || true")])
        },
    ]
}

fn check(work: &[Honest]) {
    if rung() == ConfinementLevel::None {
        return;
    }
    let problems = problems_of(work, Honest::problem);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn work_on_the_files_of_checks_converges() {
    check(&on_files_of_checks());
}

#[test]
fn work_on_other_files_converges() {
    check(&on_other_files());
}

/// A result that git ignores is brought back, or the run says that it is not.
#[test]
fn results_that_git_ignores_are_not_dropped() {
    if rung() == ConfinementLevel::None {
        return;
    }
    for mode in ["in-place", "worktree", "copy"] {
        let env = create(MAKE.files);
        let check = "mkdir -p out; test -s out/result.txt";
        let contract = json!({
            "verify": [{"command": check}],
            "workspace": {"mode": mode},
            "attempts": {"rounds": 0},
        });
        let run = run(&env, &[bash("mkdir -p out && echo result > out/result.txt")], contract);
        assert!(run.code != Some(0) || passes(&env, &[check]), "{mode}: {}", run.stderr);
        let is_named = format!("{} {}", run.failures(), run.stderr).contains("out/result.txt");
        assert!(is_named, "{mode}: {} {}", run.failures(), run.stderr);
    }
}

/// A result that git ignores and that the task asks for is in the directory of the user at the end.
#[test]
fn ignored_results_that_the_task_names_are_brought_back() {
    if rung() == ConfinementLevel::None {
        return;
    }
    for mode in ["in-place", "worktree", "copy"] {
        let env = create(MAKE.files);
        let check = "test -s out/result.txt";
        let contract = json!({
            "verify": [{"command": check}, {"files": {"exist": ["out/result.txt"]}}],
            "workspace": {"mode": mode},
            "attempts": {"rounds": 0},
        });
        let edits = [bash("mkdir -p out && echo result > out/result.txt && echo more > out/more")];
        let run = run(&env, &edits, contract);
        assert_eq!(run.code, Some(0), "{mode}: {} {}", run.failures(), run.stderr);
        assert!(passes(&env, &[check]), "{mode}: {}", run.stderr);
        let files = run.report["files"].to_string();
        assert!(files.contains("out/result.txt"), "{mode}: {files}");
        // What is left out is said.
        let problems = run.report["problems"].to_string();
        assert_eq!(problems.contains("out/"), mode != "in-place", "{mode}: {problems}");
    }
}
