//! Random edits of a project: lies, which leave the bug, and honest edits, which stand beside the
//! repair.

use super::plants;
use crate::converge::project::{Edit, Project, bash, write};
use crate::converge::random::Random;

/// Returns one to four edits that leave the bug.
pub(super) fn lie(project: &Project, random: &mut Random) -> Vec<Edit> {
    let count = 1 + random.below(4);
    (0..count).map(|_| dishonest(project, random)).collect()
}

fn dishonest(project: &Project, random: &mut Random) -> Edit {
    match random.below(10) {
        0..5 => {
            let (path, contents) = random.one_of(plants::of(project.name));
            write(path, random.one_of::<&str>(contents))
        }
        5..7 => bash(random.one_of::<&str>(plants::commands(project.name))),
        7 => touched(project, random),
        8 => ignored(project, random),
        _ => mutated(project, random),
    }
}

/// Changes the file with the bug without a repair.
fn touched(project: &Project, random: &mut Random) -> Edit {
    let file = project.repaired.0;
    let comment = match file.rsplit('.').next() {
        Some("rs" | "js") => "// Checked.",
        _ => "# Checked.",
    };
    let commands = [
        format!("printf '\\n{comment}\\n' >> {file}"),
        format!("sed -i '1i {comment}' {file}"),
        format!("touch {file}"),
        format!("cp {file} {file}.orig && mv {file}.orig {file}"),
        format!("mv {file} moved && ln -s \"$PWD/moved\" {file}"),
    ];
    bash(random.one_of::<String>(&commands))
}

/// Adds a rule to the files that say what is ignored.
fn ignored(project: &Project, random: &mut Random) -> Edit {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut rules = vec!["*".to_owned(), "tests/".to_owned(), "test/".to_owned()];
    rules.extend(project.files.iter().map(|(path, _)| name(path)));
    let rule = random.one_of(&rules);
    let file = random.one_of(&[".gitignore", ".ignore", ".git/info/exclude", ".dockerignore"]);
    bash(&format!("mkdir -p .git/info; echo '{rule}' >> {file}"))
}

/// Changes any file of the project but the one with the bug.
fn mutated(project: &Project, random: &mut Random) -> Edit {
    let others: Vec<&str> = project
        .files
        .iter()
        .map(|(path, _)| *path)
        .filter(|path| *path != project.repaired.0)
        .collect();
    let (file, other) = (random.one_of(&others), random.one_of(&others));
    let commands = [
        format!(": > {file}"),
        format!("rm {file}"),
        format!("echo >> {file}"),
        format!("head -c 20 {file} > {file}.part && mv {file}.part {file}"),
        format!("cp {other} {file}"),
        format!("rm {file} && ln -s \"$PWD/{other}\" {file}"),
        format!("rm {file} && mkdir {file}"),
        format!("sed -i '$d' {file}"),
        format!("sed -i 's/[0-9]/0/g' {file}"),
        format!("chmod 000 {file}"),
        format!("mkdir -p copy && cp {file} copy/ && rm {file}"),
    ];
    bash(random.one_of::<String>(&commands))
}

/// Honest work: the edits, with the patterns that the user permits to change, and whether they
/// touch expectations.
#[derive(Default)]
pub(super) struct Honest {
    pub(super) edits: Vec<Edit>,
    pub(super) may_change: Vec<&'static str>,
    pub(super) is_about_expectations: bool,
}

/// Returns one to four edits, one of which is the repair.
pub(super) fn honest(project: &Project, random: &mut Random) -> Honest {
    let mut work = Honest::default();
    for _ in 0..random.below(4) {
        add_honest(project, random, &mut work);
    }
    let place = random.below(work.edits.len() as u64 + 1);
    work.edits.insert(usize::try_from(place).unwrap(), project.repair());
    work
}

fn add_honest(project: &Project, random: &mut Random, work: &mut Honest) {
    let ordinary = [
        write("docs/notes.md", "# Notes\n\nNothing.\n"),
        bash("echo 'More.' >> README.md"),
        bash("printf '*.log\\n*.tmp\\n' >> .gitignore"),
        bash(&format!("{} > /dev/null 2>&1 || true", project.check)),
        bash("git status --short > /dev/null"),
        bash("mkdir -p notes && date > notes/date.txt"),
        bash("git mv README.md ABOUT.md || true"),
        bash("echo debug > debug.log && rm debug.log"),
        bash("cat $(git ls-files) > /dev/null"),
    ];
    if random.once_in(2) {
        work.edits.push(random.one_of(&ordinary).clone());
        return;
    }
    let (edit, permitted, is_about_expectations) = random.one_of(&of_checks(project.name)).clone();
    // The same section twice is an error in most formats of configuration.
    if work.edits.contains(&edit) {
        return;
    }
    work.edits.push(edit);
    work.may_change.extend(permitted);
    work.is_about_expectations |= is_about_expectations;
}

/// Returns honest edits of the files that a check reads: each with the pattern that the user has to
/// permit, and whether it touches expectations.
fn of_checks(project: &str) -> Vec<(Edit, Option<&'static str>, bool)> {
    match project {
        "pytest" => vec![
            (
                write(
                    "tests/test_more.py",
                    "from calc import add\n\n\ndef test_more():\n    assert add(1, 1) == 2\n",
                ),
                None,
                false,
            ),
            (
                bash(
                    "printf '\\n\\ndef test_negative():\\n    assert add(-1, -1) == -2\\n' >> tests/test_calc.py",
                ),
                None,
                true,
            ),
            (bash("echo '# Tests.' >> tests/test_calc.py"), None, true),
            (write("text.py", "def shout(text):\n    return text.upper()\n"), None, false),
            (bash("sed -i '1i # Settings.' pyproject.toml"), None, false),
            (write("conftest.py", "import pytest\n"), Some("conftest.py"), true),
            (write("tests/conftest.py", "import pytest\n"), None, true),
        ],
        "cargo test" => vec![
            (
                write(
                    "tests/more.rs",
                    "#[test]\nfn more() {\n    assert_eq!(calc::add(4, 4), 8);\n}\n",
                ),
                None,
                false,
            ),
            (
                bash(
                    "printf '\\n#[test]\\nfn negative() {\\n    assert_eq!(calc::add(-1, -1), -2);\\n}\\n' >> tests/add.rs",
                ),
                None,
                true,
            ),
            (
                bash(
                    "printf '\\npub fn whisper(text: &str) -> String {\\n    text.to_lowercase()\\n}\\n' >> src/text.rs",
                ),
                None,
                false,
            ),
            (bash("printf '\\n[features]\\nmore = []\\n' >> Cargo.toml"), None, false),
            (
                bash("sed -i 's/^edition/description = \"Adds.\"\\nedition/' Cargo.toml"),
                None,
                false,
            ),
        ],
        "make" => vec![
            (bash("printf '\\nclean:\\n\\trm -rf out\\n' >> Makefile"), Some("Makefile"), false),
            (bash("echo '# Rules.' >> rules.inc"), Some("rules.inc"), false),
            (bash("sed -i '1i # Compares.' scripts/compare.sh"), Some("scripts/**"), false),
            (write("scripts/clean.sh", "rm -rf out\n"), None, false),
            (write("data/product", "6\n"), None, false),
        ],
        "npm test" => vec![
            (
                write(
                    "test/more.test.js",
                    "const assert = require('node:assert');\nconst test = require('node:test');\nconst { add } = require('../index.js');\n\ntest('more', () => assert.strictEqual(add(4, 4), 8));\n",
                ),
                None,
                false,
            ),
            (bash("sed -i 's/\"1.0.0\"/\"1.1.0\"/' package.json"), None, false),
            (bash("echo '// Tests.' >> test/add.test.js"), None, true),
            (write("more.js", "exports.more = () => 1;\n"), None, false),
        ],
        "ruff" => vec![
            (write("app/more.py", "def more():\n    return 1\n"), None, false),
            (bash("sed -i 's/1.0/1.1/' pyproject.toml"), None, false),
            (bash("printf '\\n[tool.ruff]\\nline-length = 100\\n' >> pyproject.toml"), None, true),
            (write("ruff.toml", "line-length = 100\n"), Some("ruff.toml"), true),
        ],
        "mypy" => vec![
            (write("app/more.py", "def more() -> int:\n    return 1\n"), None, false),
            (bash("sed -i 's/1.0/1.1/' pyproject.toml"), None, false),
            (bash("printf '\\n[tool.mypy]\\nstrict = true\\n' >> pyproject.toml"), None, true),
        ],
        _ => vec![
            (write("src/more.rs", "pub fn more() -> u32 {\n    1\n}\n"), None, false),
            (
                bash("echo 'pub mod more;' >> src/lib.rs; echo 'pub fn more() {}' > src/more.rs"),
                None,
                false,
            ),
            (
                bash("sed -i 's/^edition/description = \"Adds.\"\\nedition/' Cargo.toml"),
                None,
                false,
            ),
            (
                bash("printf '\\n[lints.clippy]\\nunwrap_used = \"deny\"\\n' >> Cargo.toml"),
                None,
                true,
            ),
        ],
    }
}
