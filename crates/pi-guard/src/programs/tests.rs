//! The table is consistent, and no other module names programs.

use std::fs;
use std::path::Path;

use super::*;

#[test]
fn every_name_has_one_entry() {
    let names = &INDEX.names;
    let duplicates: Vec<&str> =
        names.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0).collect();
    assert_eq!(duplicates, [""; 0]);
    assert!(names.len() > 300, "{}", names.len());
}

#[test]
fn entries_are_found() {
    for name in ["git", "rm", "[", ".", "mkfs.ext4"] {
        assert!(find(name).is_known(), "{name}");
    }
    for name in ["", "cat2", "gitk", "made-up", "python3.12", "ksh93", "vim.basic"] {
        assert!(!find(name).is_known(), "{name}");
    }
    assert_eq!(split_dashed("git-push"), Some(("git", "push")));
    assert_eq!(split_dashed("ls-push"), None);
}

/// Words that are names of programs too: a kind of node, tokens, a path, access, parts of options.
const OTHER_MEANINGS: &[&str] = &["command", "[", ".", "read", "set", "eval", "exec"];

/// Facts about programs belong into the table: the analysis and the policy name none of them.
#[test]
fn no_other_module_names_programs() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![source.join("shell.rs"), source.join("policy.rs")];
    for directory in ["shell", "policy"] {
        let entries = fs::read_dir(source.join(directory)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    let mut named = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            // Every second piece is between quotes.
            for literal in line.split('"').skip(1).step_by(2) {
                if INDEX.names.iter().any(|(name, _)| *name == literal)
                    && !OTHER_MEANINGS.contains(&literal)
                {
                    named.push(format!("{}: \"{literal}\"", file.display()));
                }
            }
        }
    }
    assert!(named.is_empty(), "{}", named.join("\n"));
}
