//! The texts of a pull request: title, body and commit message. Pure.
//!
//! Goals, paths and commands may come from models and issues. On a server, some texts act: a name
//! after `@` notifies, a number after `#` links, a word before it closes an issue, and a line after
//! `/` is a command. A zero-width space takes the effect away and leaves the text readable.

use pi_base::text::{self, ZERO_WIDTH_SPACE as BREAK, cut, cut_bytes, one_line};

use crate::contract::PublishPlan;
use crate::report::Report;

/// Characters of a title.
const TITLE: usize = 120;
/// Characters of the first line of a commit message.
const SUBJECT: usize = 72;
/// Bytes of a body. GitHub accepts 65,536 characters.
const BODY: usize = 60_000;

/// Texts after which a number refers to an issue or a merge request.
const REFERENCES: &[&str] = &[
    "#",
    "!",
    "&",
    "gh-",
    "issues/",
    "pull/",
    "pulls/",
    "merge_requests/",
    "work_items/",
    "epics/",
];

/// Texts in a commit message that turn CI off.
const SKIPS: &[&str] =
    &["[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]", "skip-checks:"];

/// Returns the title of the pull request.
pub(super) fn title(report: &Report, plan: &PublishPlan) -> String {
    let given = plan.title.as_deref().or(report.name.as_deref());
    let first = given.unwrap_or_else(|| report.goal.trim().lines().next().unwrap_or_default());
    let title = harmless(&one_line(first));
    if title.is_empty() { format!("pi run {}", report.id) } else { cut(&title, TITLE).into_owned() }
}

/// Returns the body of the pull request: the summary of the run.
pub(super) fn body(report: &Report) -> String {
    let summary = harmless(&text::clean(&report.to_markdown()));
    let footer = format!(
        "\n\nRun `{}` of `pi run`, outcome `{}`. The checks were made by pi.\n",
        report.id, report.outcome
    );
    cut_bytes(summary.trim_end(), BODY).into_owned() + &footer
}

/// Returns the message of the commit.
pub(super) fn commit_message(report: &Report, plan: &PublishPlan) -> String {
    let mut subject = cut(&title(report, plan), SUBJECT).into_owned();
    for skip in SKIPS {
        while let Some(at) = subject.to_ascii_lowercase().find(skip) {
            subject.insert(at + 1, BREAK);
        }
    }
    let passed = report.checks.iter().filter(|check| check.passed).count();
    format!(
        "{subject}\n\npi run {}: {}, {passed} of {} checks passed.\n",
        report.id,
        report.outcome,
        report.checks.len()
    )
}

/// Returns the name of the branch: as given, or from the name of the task and the id of the run.
pub(super) fn branch(report: &Report, plan: &PublishPlan) -> String {
    if let Some(branch) = &plan.branch {
        return branch.clone();
    }
    let name = report.name.as_deref().unwrap_or(&report.goal);
    let mut slug = String::new();
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= 40 {
            break;
        }
    }
    match slug.trim_end_matches('-') {
        "" => format!("pi/{}", report.id),
        slug => format!("pi/{slug}-{}", report.id),
    }
}

/// Returns true for the name of a branch that git accepts and that no program can take for anything
/// else.
pub(crate) fn is_branch(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/+@#=".contains(c) || !c.is_ascii();
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock");
    !name.starts_with("refs/")
        && name.chars().all(|c| is_plain(c) && !c.is_control() && !c.is_whitespace())
        && name.split('/').all(is_part)
        && !name.contains("..")
        && !name.ends_with('.')
        && !name.contains("@{")
        && !matches!(name, "@" | "HEAD")
}

/// Returns a text without mentions, references and commands.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Lower case of the current line, without what was inserted.
    let mut line = String::new();
    for character in text.chars() {
        let is_reference = character.is_ascii_digit()
            && REFERENCES.iter().any(|reference| line.ends_with(reference));
        let is_mention = line.ends_with('@') && !character.is_whitespace();
        let is_command = character == '/' && line.trim().is_empty();
        if is_reference || is_mention || is_command {
            out.push(BREAK);
        }
        out.push(character);
        if character == '\n' {
            line.clear();
        } else {
            line.push(character.to_ascii_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::report::{CheckReport, FileReport};

    fn shown(text: &str) -> String {
        harmless(text).replace(BREAK, "|")
    }

    #[test]
    fn texts_of_models_have_no_effect() {
        let cases = [
            ("plain text, a@b", "plain text, a@|b"),
            ("cc @octocat and @acme/team", "cc @|octocat and @|acme/team"),
            ("Fixes #12, closes acme/widget#3", "Fixes #|12, closes acme/widget#|3"),
            ("resolves GH-7 and !8 and &9", "resolves GH-|7 and !|8 and &|9"),
            ("fix https://github.com/a/b/issues/1", "fix https://github.com/a/b/issues/|1"),
            (
                "https://gitlab.com/a/b/-/merge_requests/5",
                "https://gitlab.com/a/b/-/merge_requests/|5",
            ),
            ("/merge\n  /close\ntext /label", "|/merge\n  |/close\ntext /label"),
            ("# heading\n1. list &lt;", "# heading\n1. list &lt;"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected);
        }
    }

    fn report() -> Report {
        Report {
            id: "261119-120000-ab3d".to_owned(),
            outcome: Outcome::Converged,
            goal: "Repair @parser, fixes #1\nand more".to_owned(),
            reason: "All checks passed.".to_owned(),
            checks: vec![CheckReport {
                name: "make".into(),
                passed: true,
                ..CheckReport::default()
            }],
            files: vec![FileReport {
                path: "src/\u{202e}@admin#4|x".to_owned(),
                change: "added".to_owned(),
                added: 1,
                ..FileReport::default()
            }],
            ..Report::default()
        }
    }

    #[test]
    fn title_branch_and_message_come_from_the_task() {
        let (mut report, mut plan) = (report(), PublishPlan::default());
        assert_eq!(title(&report, &plan).replace(BREAK, "|"), "Repair @|parser, fixes #|1");
        assert_eq!(branch(&report, &plan), "pi/repair-parser-fixes-1-and-more-261119-120000-ab3d");
        report.name = Some("Größe ändern!".to_owned());
        assert_eq!(branch(&report, &plan), "pi/gr-e-ndern-261119-120000-ab3d");
        report.name = Some("...".to_owned());
        assert_eq!(branch(&report, &plan), "pi/261119-120000-ab3d");
        plan.title = Some("Update [Skip CI] now\nsecond".to_owned());
        let message = commit_message(&report, &plan);
        assert_eq!(
            message.replace(BREAK, "|"),
            "Update [|Skip CI] now second\n\npi run 261119-120000-ab3d: converged, 1 of 1 checks passed.\n"
        );
        plan.title = Some(" ".to_owned());
        assert_eq!(title(&report, &plan), "pi run 261119-120000-ab3d");
    }

    #[test]
    fn the_body_is_the_clean_summary() {
        let body = body(&report()).replace(BREAK, "|");
        assert!(body.contains("| make | passed | 0.0 s |"), "{body}");
        assert!(body.contains("src/@|admin#|4\\|x"), "{body}");
        assert!(
            body.contains("Run `261119-120000-ab3d` of `pi run`, outcome `converged`"),
            "{body}"
        );
        assert!(!body.contains('\u{202e}') && !body.contains("@p"), "{body}");
        let long = Report { goal: "ä".repeat(100_000), ..report() };
        assert!(super::body(&long).len() < 61_000);
    }

    #[test]
    fn branches_are_plain_names() {
        for name in ["main", "feature/x", "pi/a-1", "release/1.2", "größe"] {
            assert!(is_branch(name), "{name}");
        }
        for name in [
            "",
            "-x",
            "a/-x",
            "a b",
            "a..b",
            "a:b",
            "+a:b ",
            "a/",
            "/a",
            "a.lock",
            "a~1",
            "a^",
            "a?",
            "a*",
            "[a",
            "a\\b",
            "a@{1}",
            "@",
            "HEAD",
            ".a",
            "a.",
            "a\nb",
            "refs/heads/a",
        ] {
            assert!(!is_branch(name), "{name}");
        }
    }
}
