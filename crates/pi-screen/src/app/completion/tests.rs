//! Files and paths as completions.

use std::fs;
use std::sync::atomic::AtomicBool;

use pi_tui::completion::context::token;

use super::listing::{Entry, Reach, list};
use super::paths::Paths;
use super::{Places, rank};

/// A project with a few files.
fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for path in ["src/deep", "docs", ".git", "target", ".config"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for path in [
        "a.txt",
        "main.py",
        "with space.txt",
        "src/lib.rs",
        "src/deep/notes.md",
        "docs/guide.md",
        ".git/HEAD",
        "target/lib.rs",
        ".config/x",
    ] {
        fs::write(root.join(path), "").unwrap();
    }
    fs::write(root.join(".gitignore"), "target\n").unwrap();
    directory
}

fn paths(entries: &[Entry]) -> Vec<String> {
    let slash = |entry: &Entry| if entry.is_directory { "/" } else { "" };
    entries.iter().map(|entry| format!("{}{}", entry.path, slash(entry))).collect()
}

#[test]
fn a_listing_has_hidden_files_but_nothing_that_git_ignores() {
    let project = project();
    let mut deep = paths(&list(project.path(), Reach::Deep, &AtomicBool::new(false)));
    deep.sort();
    assert_eq!(
        deep,
        [
            ".config/",
            ".config/x",
            ".gitignore",
            "a.txt",
            "docs/",
            "docs/guide.md",
            "main.py",
            "src/",
            "src/deep/",
            "src/deep/notes.md",
            "src/lib.rs",
            "with space.txt",
        ]
    );
    let shallow = list(project.path(), Reach::Shallow, &AtomicBool::new(false));
    assert!(shallow.iter().all(|entry| !entry.path.contains('/')));
    assert!(list(project.path(), Reach::Deep, &AtomicBool::new(true)).is_empty());
}

#[test]
fn names_win_over_paths_and_near_files_over_far_ones() {
    let entry = |path: &str| Entry {
        path: path.trim_end_matches('/').to_owned(),
        is_directory: path.ends_with('/'),
    };
    let all: Vec<Entry> =
        ["src/lib/x.rs", "src/lib/", "lib", "my-lib.txt", "library.md", "src/deep/Lib", "a.txt"]
            .map(entry)
            .to_vec();
    assert_eq!(
        paths(&rank::best("LIB", &all)),
        ["src/lib/", "lib", "src/deep/Lib", "library.md", "my-lib.txt", "src/lib/x.rs"]
    );
    assert_eq!(paths(&rank::best("", &all))[..2], ["lib", "a.txt"]);
    assert!(rank::best("zzz", &all).is_empty());
    let many: Vec<Entry> = (0..5_000).map(|number| entry(&format!("f{number}"))).collect();
    assert_eq!(rank::best("f4999", &many).len(), 1);
    assert_eq!(rank::best("f", &many).len(), 20);
}

#[test]
fn tab_completes_the_entries_of_a_directory() {
    let project = project();
    let home = project.path().join("src");
    let places = Places { cwd: project.path().to_owned(), home: Some(home) };
    let table: &[(&str, &[&str])] = &[
        (
            "./",
            &[
                "./.config/",
                "./.git/",
                "./docs/",
                "./src/",
                "./target/",
                "./.gitignore",
                "./a.txt",
                "./main.py",
                "\"./with space.txt\"",
            ],
        ),
        ("see sr", &["src/"]),
        ("src/D", &["src/deep/"]),
        ("~/l", &["~/lib.rs"]),
        ("wi", &["\"with space.txt\""]),
        ("\"with s", &["\"with space.txt\""]),
        ("nothing/here", &[]),
    ];
    for (typed, expected) in table {
        let found = Paths::default().complete(&token(typed), typed.len(), &places);
        let found: Vec<String> = found
            .map(|found| found.items.into_iter().map(|item| item.insert).collect())
            .unwrap_or_default();
        assert_eq!(&found, expected, "{typed}");
    }
}
