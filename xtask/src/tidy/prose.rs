//! The wording of doc comments, as far as it can be measured: first words, length, and words that
//! describe people where components act. CONTRIBUTING.md has the rules behind the numbers.
//!
//! The limits hold for each crate. They are a floor, not the goal.

use std::collections::BTreeMap;
use std::fmt;

use super::Finding;
use crate::files::SourceFile;

/// First words that lead to a relative clause where a noun or a verb belongs.
const WH_WORDS: &[&str] =
    &["what", "who", "where", "whether", "how", "why", "which", "whose", "whom"];

/// First words that refer to something the reader has not seen yet.
const PRONOUNS: &[&str] =
    &["it", "they", "its", "one", "those", "these", "them", "he", "she", "some", "other", "others"];

/// Words for people. The subject is a caller, a client, a process, a user.
const PEOPLE: &[&str] = &[
    "nobody",
    "somebody",
    "whoever",
    "everybody",
    "anybody",
    "whatever",
    "those who",
    "no one knows",
];

/// Files in which words for people may occur, with the reason.
const ALLOWED: &[(&str, &str)] =
    &[("xtask/src/tidy/prose.rs", "this list and its tests contain the words")];

/// The number of offending comments that a failure prints.
const SHOWN: usize = 30;

/// Limits in tenths of a percent of the doc comments of a crate.
const LIMITS: &[(Fault, usize)] = &[(Fault::WhWord, 30), (Fault::Pronoun, 5), (Fault::Short, 80)];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    WhWord,
    Pronoun,
    Short,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WhWord => "begins with a wh-word",
            Self::Pronoun => "begins with a pronoun",
            Self::Short => "has three words or fewer",
        })
    }
}

/// A doc comment: consecutive lines of `///` or `//!`, joined.
#[derive(Debug, PartialEq, Eq)]
struct DocComment {
    /// The first line, from 1.
    line: usize,
    text: String,
}

/// Checks the doc comments and the words of all Rust files.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    check_with(files, LIMITS)
}

fn check_with(files: &[SourceFile], limits: &[(Fault, usize)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut crates: BTreeMap<&str, Counts> = BTreeMap::new();
    for file in files.iter().filter(|file| is_measured(file)) {
        let counts = crates.entry(crate_of(&file.path)).or_default();
        for comment in doc_comments(file) {
            counts.comments += 1;
            for fault in faults(&comment.text) {
                let start: String = comment.text.chars().take(60).collect();
                let finding = Finding::new(&file.path, comment.line, format!("{fault}: {start}"));
                counts.faulty.push((fault, finding));
            }
        }
        if !ALLOWED.iter().any(|(path, _)| *path == file.path) {
            findings.extend(people(file));
        }
    }
    for (name, Counts { comments, faulty }) in &crates {
        for (fault, limit) in limits {
            let of_this: Vec<_> = faulty.iter().filter(|(other, _)| other == fault).collect();
            let count = of_this.len();
            if count * 1000 > limit * comments {
                let advice = format!(
                    "{count} of {comments} doc comments of {name}: {fault}; at most {limit} of \
                     1,000 may. Begin with the noun or a third-person verb."
                );
                findings.push(Finding::new("CONTRIBUTING.md", 0, advice));
                findings.extend(of_this.iter().take(SHOWN).map(|(_, finding)| finding.clone()));
            }
        }
    }
    findings
}

/// The doc comments of a crate.
#[derive(Debug, Default)]
struct Counts {
    comments: usize,
    faulty: Vec<(Fault, Finding)>,
}

fn is_measured(file: &SourceFile) -> bool {
    file.is_rust() && !file.path.starts_with("fuzz/")
}

/// The name of the crate that contains a file.
fn crate_of(path: &str) -> &str {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.split('/').next().unwrap_or(path)
}

fn doc_comments(file: &SourceFile) -> Vec<DocComment> {
    let mut comments: Vec<DocComment> = Vec::new();
    let mut previous = None;
    for (line, text) in file.lines() {
        let part = doc_line(text);
        match (part, previous) {
            (Some((marker, part)), Some(before)) if marker == before => {
                if let Some(comment) = comments.last_mut() {
                    comment.text.push(' ');
                    comment.text.push_str(part);
                }
            }
            (Some((_, part)), _) => comments.push(DocComment { line, text: part.to_owned() }),
            (None, _) => {}
        }
        previous = part.map(|(marker, _)| marker);
    }
    for comment in &mut comments {
        comment.text = comment.text.trim().to_owned();
    }
    comments.retain(|comment| !comment.text.is_empty());
    comments
}

/// Splits a line of a doc comment into `///` or `//!` and its text.
fn doc_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (marker, text) = line.split_at_checked(3)?;
    let is_doc = matches!(marker, "///" | "//!") && !text.starts_with('/');
    is_doc.then_some((marker, text))
}

fn faults(text: &str) -> Vec<Fault> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let first = text[..end].to_lowercase();
    let mut faults = Vec::new();
    if WH_WORDS.contains(&first.as_str()) {
        faults.push(Fault::WhWord);
    }
    if PRONOUNS.contains(&first.as_str()) {
        faults.push(Fault::Pronoun);
    }
    if text.split_whitespace().count() <= 3 {
        faults.push(Fault::Short);
    }
    faults
}

/// Words for people, in code and strings as well as in comments.
fn people(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let line = line.to_lowercase();
        for word in PEOPLE.iter().filter(|word| has_word(&line, word)) {
            let advice = format!(
                "`{word}`: name the component: the caller, the client, the process, the user"
            );
            findings.push(Finding::new(&file.path, number, advice));
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn first_words_and_length_are_classified() {
        let cases: &[(&str, &[Fault])] = &[
            ("Returns true if the log is locked.", &[]),
            ("The provider that answers the request.", &[]),
            ("When the lock is free, takes it.", &[]),
            ("Whatever is left over is removed.", &[]),
            ("Italic text is kept as it is.", &[]),
            ("Whether the log is locked.", &[Fault::WhWord]),
            ("what: the cause of the failure", &[Fault::WhWord]),
            ("It was compacted, or it was not.", &[Fault::Pronoun]),
            ("Others are passed on without changes.", &[Fault::Pronoun]),
            ("The session id.", &[Fault::Short]),
            ("Which.", &[Fault::WhWord, Fault::Short]),
            ("`None`", &[Fault::Short]),
        ];
        for (text, expected) in cases {
            assert_eq!(faults(text), *expected, "{text}");
        }
    }

    #[test]
    fn comments_are_joined_by_kind() {
        let text = "//! The file.\n//!\n//! More.\n/// The item\n    /// continues.\n\nfn a() {}\n\
                    // Not a doc comment.\n//// Neither.\n///\n    /// A field.\n";
        let found: Vec<(usize, String)> = doc_comments(&file("crates/a/src/b.rs", text))
            .into_iter()
            .map(|comment| (comment.line, comment.text))
            .collect();
        let expected = [(1, "The file.   More."), (4, "The item  continues."), (10, "A field.")];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((line, text), (expected_line, expected)) in found.iter().zip(expected) {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!((*line, words(text)), (expected_line, words(expected)));
        }
    }

    #[test]
    fn limits_are_shares_of_the_comments_of_a_crate() {
        let good = "/// Returns the length of the log.\nfn a() {}\n\n".repeat(9);
        let bad = format!("{good}/// Whether the log is locked.\nfn b() {{}}\n");
        // A crate without faults does not make up for another one.
        let files = [file("crates/a/src/b.rs", &bad), file("crates/c/src/d.rs", &good)];
        assert_eq!(check_with(&files, &[(Fault::WhWord, 100)]), []);
        let found = check_with(&files, &[(Fault::WhWord, 99), (Fault::Short, 0)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].advice.starts_with("1 of 10 doc comments of a:"), "{found:?}");
        assert_eq!((found[1].file.as_str(), found[1].line), ("crates/a/src/b.rs", 28));
        let elsewhere = [file("fuzz/src/b.rs", &bad)];
        assert_eq!(check_with(&elsewhere, &[(Fault::WhWord, 0)]), []);
    }

    #[test]
    fn words_for_people_are_found() {
        let found = |path: &str, text: &str| check_with(&[file(path, text)], &[]).len();
        for bad in ["let a = \"Nobody is here\";", "// for those who read", "fn for_everybody() {}"]
        {
            let expected = usize::from(!bad.starts_with("fn"));
            assert_eq!(found("crates/a/tests/it/b.rs", bad), expected, "{bad}");
        }
        assert_eq!(found("xtask/src/tidy/prose.rs", "// nobody"), 0);
        assert_eq!(found("docs/a.md", "nobody"), 0, "documents are not measured");
    }

    #[test]
    fn allowed_files_exist() {
        for (path, reason) in ALLOWED {
            assert!(crate::repository::path(path).exists(), "{path}: {reason}");
        }
    }
}
