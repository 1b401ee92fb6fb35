//! Names and words that must not occur.
//!
//! This file contains them, so it is not checked itself.

use super::Finding;
use crate::files::SourceFile;

const THIS_FILE: &str = "xtask/src/tidy/words.rs";

/// Module names without a subject. Such modules collect unrelated code.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "misc", "common"];

/// Words that must not occur in some files.
struct Rule {
    words: &'static [&'static str],
    applies: Applies,
    /// The beginnings of paths that need the words.
    except: &'static [&'static str],
    advice: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Applies {
    /// Rust source, tests included.
    Source,
    /// Rust source and manifests, without tests.
    Product,
    /// Rust source, manifests and documents, without tests.
    ProductAndDocs,
}

const RULES: &[Rule] = &[
    Rule {
        words: &["todo!", "unimplemented!", "dbg!", "FIXME", "XXX"],
        applies: Applies::Source,
        except: &[],
        advice: "finish the code, or describe the rest in an issue",
    },
    Rule {
        words: &["/root/", "/home/", "/work/", "/tmp/"],
        applies: Applies::ProductAndDocs,
        except: &[],
        advice: "a path of one machine; take it from the environment, or write it relative",
    },
    Rule {
        words: &[
            "index.crates.io",
            "static.crates.io",
            "rsproxy.cn",
            "pypi.org",
            "pythonhosted.org",
            "registry.npmjs.org",
            "registry.yarnpkg.com",
            "npmmirror.com",
        ],
        applies: Applies::ProductAndDocs,
        // The client of npm registries has npm's default.
        except: &["crates/pi-packages/src/npm/config.rs"],
        advice: "the host of a registry; the user's configuration chooses the registry",
    },
    Rule {
        words: &["claude-cli", "GitHubCopilotChat", "vscode/", "Claude Code"],
        applies: Applies::Product,
        except: &[],
        advice: "the name of another program; use our own name",
    },
    Rule {
        words: &[
            r"u{200b}",
            r"u{202a}",
            r"u{202e}",
            r"u{e0000}",
            ".filter(|c| !c.is_control())",
            ".filter(|one| !one.is_control())",
            ".filter(|character| !character.is_control())",
        ],
        applies: Applies::Product,
        // The second decodes keys.
        except: &["crates/pi-base/", "crates/pi-tui/src/input/sequence.rs"],
        advice: "a set of invisible characters; `pi_base::text` has the one table",
    },
    Rule {
        words: &["NamedTempFile", "DirBuilder::new", "TryLockError::Error"],
        applies: Applies::Product,
        // The second makes directories for JavaScript.
        except: &["crates/pi-fs/", "crates/pi-extensions/src/native/fs/"],
        advice: "a file operation of `pi-fs`: `write`, `replace`, `create_private` or `try_lock`",
    },
];

/// Finds files and inline modules without a subject in their name.
pub(super) fn names(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let mut parts = file.path.trim_end_matches(".rs").split('/');
        if let Some(name) = parts.find(|part| EMPTY_NAMES.contains(part)) {
            findings.push(Finding::new(&file.path, 0, rename(name)));
        }
        for (number, line) in file.lines() {
            if let Some(name) = inline_module(line).filter(|name| EMPTY_NAMES.contains(name)) {
                findings.push(Finding::new(&file.path, number, rename(name)));
            }
        }
    }
    findings
}

fn rename(name: &str) -> String {
    format!("`{name}` has no subject; name the module after its purpose")
}

/// Returns the name in `mod name {`.
fn inline_module(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("mod ")?;
    let before = before.trim();
    let name = after.strip_suffix('{')?.trim_end();
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// Finds words that must not occur.
pub(super) fn words(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path != THIS_FILE) {
        let is_excepted =
            |rule: &Rule| rule.except.iter().any(|beginning| file.path.starts_with(beginning));
        let rules = RULES.iter().filter(|rule| rule.applies.to(file) && !is_excepted(rule));
        for rule in rules {
            let lines: Box<dyn Iterator<Item = (usize, &str)>> = match rule.applies {
                Applies::Source => Box::new(file.lines()),
                Applies::Product | Applies::ProductAndDocs => Box::new(file.product_lines()),
            };
            for (number, line) in lines {
                for word in rule.words.iter().filter(|word| has_word(line, word)) {
                    let advice = format!("`{word}`: {}", rule.advice);
                    findings.push(Finding::new(&file.path, number, advice));
                }
            }
        }
    }
    findings
}

impl Applies {
    fn to(self, file: &SourceFile) -> bool {
        match self {
            Self::Source => file.is_source(),
            Self::Product => file.is_rust() || file.path.ends_with(".toml"),
            Self::ProductAndDocs => !file.path.ends_with(".lock"),
        }
    }
}

/// Returns true if `word` occurs in `line` in any case, but not as a part of something longer, such
/// as `\uXXXX`, `.vscode/` or `https://example.com/home/`.
fn has_word(line: &str, word: &str) -> bool {
    let (line, word) = (line.to_ascii_lowercase(), word.to_ascii_lowercase());
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    line.match_indices(&word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_end = word.ends_with(|c: char| !c.is_alphanumeric());
        // A host may have another in front of it; anything else stands alone.
        let is_host = word.contains(".c") || word.contains(".o");
        (is_host || before.is_none_or(|c| !is_part(c)))
            && (open_end || after.is_none_or(|c| !c.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    fn found(path: &str, text: &str) -> usize {
        words(&[file(path, text)]).len()
    }

    #[test]
    fn empty_names_are_found() {
        let bad = |path: &str, text: &str| names(&[file(path, text)]).len();
        assert_eq!(bad("crates/a/src/paths.rs", "mod commons {\n"), 0);
        assert_eq!(bad("crates/a/src/utils.rs", ""), 1);
        assert_eq!(bad("crates/a/src/util/paths.rs", ""), 1);
        assert_eq!(bad("crates/a/tests/it/helpers.rs", ""), 1);
        assert_eq!(bad("crates/a/src/b.rs", "a\n    pub(crate) mod misc {\n"), 1);
        assert_eq!(bad("crates/a/src/b.rs", "mod common {\n"), 1);
    }

    #[test]
    fn unfinished_code_is_found() {
        let path = "crates/a/src/b.rs";
        for bad in ["    todo!()", "unimplemented!(\"x\")", "dbg!(x)", "// FIXME: x", "// XXX"] {
            assert_eq!(found(path, bad), 1, "{bad}");
        }
        for good in [r"// `\uXXXX`", "let fixmes = 1;", "// A todo list."] {
            assert_eq!(found(path, good), 0, "{good}");
        }
    }

    #[test]
    fn machine_paths_are_found() {
        for bad in ["\"/root/x\"", "in /home/me/", "`/tmp/x`", "(/work/x)"] {
            assert_eq!(found("crates/a/src/b.rs", bad), 1, "{bad}");
            assert_eq!(found("docs/a.md", bad), 1, "{bad}");
            assert_eq!(found("crates/a/tests/it/b.rs", bad), 0, "{bad} in a test");
            let module = format!("#[cfg(test)]\nmod tests {{\n    {bad}\n}}\n");
            assert_eq!(found("crates/a/src/b.rs", &module), 0, "{bad} in a test module");
        }
        assert_eq!(found("docs/a.md", "https://example.com/home/page"), 0);
    }

    #[test]
    fn hosts_and_borrowed_names_are_found() {
        assert_eq!(found("crates/a/src/b.rs", "https://registry.npmjs.org/x"), 1);
        assert_eq!(found("docs/a.md", "see files.pythonhosted.org"), 1);
        assert_eq!(found("Cargo.toml", "# mirror: https://index.crates.io/"), 1);
        for bad in ["\"claude-cli/1.0\"", "GitHubCopilotChat/0.35", "vscode/1.107", "Claude Code"] {
            assert_eq!(found("crates/a/src/b.rs", bad), 1, "{bad}");
            assert_eq!(found("docs/a.md", bad), 0, "{bad} in a document");
        }
        assert_eq!(found("crates/a/src/b.rs", "\".vscode/settings.json\""), 0);
    }

    #[test]
    fn copies_of_the_table_of_characters_are_found() {
        for bad in [r"'\u{202A}'..='\u{202E}'", "text.chars().filter(|c| !c.is_control())"] {
            assert!(found("crates/a/src/b.rs", bad) > 0, "{bad}");
            assert_eq!(found("crates/pi-base/src/text.rs", bad), 0, "{bad}");
        }
    }

    #[test]
    fn this_file_is_the_one_that_is_not_checked() {
        let path = crate::repository::path(THIS_FILE);
        assert!(path.exists());
    }
}
