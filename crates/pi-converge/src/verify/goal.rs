//! The files that a goal asks the agent to change. Pure.
//!
//! "Add a Makefile" and "Update golden/add.txt" permit these files; "Fix the bug, so that check.sh
//! passes" does not permit `check.sh`. A name counts if it follows a verb of change with only a few
//! words in between, none of which begins another clause.

use std::collections::BTreeSet;

/// Words that ask for a change, without endings.
const VERBS: &[&str] = &[
    "add",
    "adjust",
    "change",
    "complete",
    "convert",
    "correct",
    "create",
    "delete",
    "edit",
    "extend",
    "fix",
    "format",
    "generate",
    "implement",
    "improve",
    "migrate",
    "modify",
    "move",
    "port",
    "refactor",
    "regenerate",
    "remove",
    "rename",
    "repair",
    "replace",
    "rewrite",
    "simplify",
    "speed",
    "update",
    "upgrade",
    "write",
];

/// Words that end the object of a verb.
const ENDS: &[&str] = &[
    "so", "that", "until", "because", "which", "where", "when", "while", "if", "as", "by", "with",
    "without", "using", "against", "from", "for", "via", "but", "not", "never", "then", "than",
    "pass", "passes", "passing", "fail", "fails", "failing", "succeed", "succeeds", "make",
    "makes", "run", "runs", "test", "tests", "check", "checks", "checked",
];

/// Words between a verb and a name.
const MOST_BETWEEN: usize = 4;

/// Returns the words of a goal that name what it asks to change, in lower case.
pub(super) fn objects(goal: &str) -> BTreeSet<String> {
    let mut objects = BTreeSet::new();
    let mut between: Option<usize> = None;
    let words: Vec<&str> = goal.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        objects.extend(object_of_make(&words[index..]));
        let quoted = bare(word);
        let ends_sentence = word.ends_with(['.', ';', ':', '!', '?']);
        let name = quoted.trim_end_matches('.').to_lowercase();
        if ENDS.contains(&name.as_str()) {
            between = None;
        } else if VERBS.contains(&name.as_str()) {
            between = Some(0);
        } else if let Some(count) = between {
            objects.insert(name.trim_start_matches("./").to_owned());
            // A list of names goes on: "a.txt, b.txt and c.txt".
            let is_name = name.contains(['.', '/', '_']);
            between = if is_name { Some(0) } else { Some(count + 1) };
            between = between.filter(|count| *count <= MOST_BETWEEN);
        }
        if ends_sentence {
            between = None;
        }
    }
    objects
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| "`'\"()[]{}<>*,;:!?".contains(c))
}

/// Returns the file of "make fib.py print 55", unless it only has to pass.
fn object_of_make(words: &[&str]) -> Option<String> {
    let [make, rest @ ..] = words else { return None };
    let rest = rest.strip_prefix(&["the"]).unwrap_or(rest);
    let [name, next, ..] = rest else { return None };
    let name = bare(name);
    let only_passes = ["pass", "succeed", "green", "work", "run", "happy", "exit", "and", "or"];
    let is_file = name.contains('.') && !name.ends_with('.');
    let is_made = bare(make).eq_ignore_ascii_case("make") && is_file;
    let is_meant = is_made && !only_passes.iter().any(|word| next.starts_with(word));
    is_meant.then(|| name.trim_start_matches("./").to_lowercase())
}

/// Returns true if the objects of a goal name a file: by its path, its name, or its name without the
/// extension.
pub(super) fn names(objects: &BTreeSet<String>, path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_above = |object: &String| {
        object.ends_with('/') && path.starts_with(object.as_str())
            || object.strip_suffix("/**").is_some_and(|above| path.starts_with(above))
    };
    objects.contains(&path)
        || objects.contains(name)
        || (stem.len() >= 3 && objects.contains(stem))
        || objects.iter().any(is_above)
}

/// Returns true if a goal asks for commits, branches or the like.
pub(super) fn is_about_repository(goal: &str) -> bool {
    const BEGINNINGS: &[&str] = &["commit", "branch", "rebas", "squash", "cherry"];
    const WORDS: &[&str] = &["tag", "tags", "merge", "merged", "stash", "stage", "staged"];
    let goal = goal.to_lowercase();
    let mut words = goal.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        WORDS.contains(&word) || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_after_a_verb_of_change_is_meant() {
        let cases = [
            ("Repair add.sh.", "add.sh", true),
            ("Repair the value.", "value", true),
            ("Add a Makefile with the target check.", "Makefile", true),
            ("Create the files conftest.py and pytest.ini.", "pytest.ini", true),
            ("Update the expected values in golden/add.txt", "golden/add.txt", true),
            ("Fix the Fibonacci program in src/fib.py", "src/fib.py", true),
            ("Rewrite `scripts/run.py`, please", "scripts/run.py", true),
            ("Regenerate golden/", "golden/a/b.txt", true),
            ("Fix calc.py so that tests/test_calc.py passes.", "tests/test_calc.py", false),
            ("Fix the failing test tests/test_calc.py.", "tests/test_calc.py", false),
            ("Make check.sh pass.", "check.sh", false),
            ("Make `fib.py` print 55.", "fib.py", true),
            ("Make the tests/a.py and tests/b.py pass.", "tests/a.py", false),
            ("Fix the bug. Use check.sh to test it.", "check.sh", false),
            ("Fix the bug until ./check.sh succeeds", "check.sh", false),
            ("The suite is red.", "suite.py", false),
        ];
        for (goal, path, expected) in cases {
            assert_eq!(names(&objects(goal), path), expected, "{goal}: {path}");
        }
    }

    #[test]
    fn goals_about_the_repository() {
        let cases = [
            ("Repair add and commit it.", true),
            ("Create a branch `fix` with the repair", true),
            ("The change is committed", true),
            ("Rebase onto main.", true),
            ("Repair the failing tests", false),
            ("Make the digits of the parser right", false),
        ];
        for (goal, expected) in cases {
            assert_eq!(is_about_repository(goal), expected, "{goal}");
        }
    }
}
