//! Options and subcommands that go by several names.

/// Programs, and the names that an option of theirs has. `^x` is any word that begins with x.
const OPTIONS: &[(&str, &[&str])] = &[
    ("rm", &["-r", "-R", "--recursive"]),
    ("rm", &["-f", "--force"]),
    ("chmod chown chgrp", &["-R", "--recursive"]),
    ("cp", &["-r", "-R", "-a", "--recursive", "--archive"]),
    ("cp mv ln", &["-f", "--force"]),
    // A refspec with a plus is forced too.
    ("git", &["-f", "--force", "^+"]),
    ("git", &["-D", "--delete"]),
    ("git", &["-d", "--delete", "^:"]),
    ("git", &["-a", "--all"]),
    ("git", &["-n", "--no-verify"]),
    ("sed", &["-i", "--in-place"]),
    ("docker podman", &["-v", "--volume", "--mount"]),
    ("kubectl", &["-f", "--filename"]),
    ("curl", &["-k", "--insecure"]),
    ("curl", &["-d", "--data"]),
    ("curl", &["-T", "--upload-file"]),
    ("npm pnpm", &["-g", "--global", "--location"]),
    ("npm pnpm", &["-f", "--force"]),
    ("find", &["-exec", "-execdir"]),
];

/// Subcommands with other names.
const SUBCOMMANDS: &[(&str, &str, &str)] = &[
    ("npm pnpm", "install", "i add"),
    ("npm pnpm", "uninstall", "un rm r remove unlink"),
    ("npm", "run", "run-script rum urn"),
    ("npm", "test", "t tst"),
    ("npm", "exec", "x"),
    ("npm", "ci", "clean-install ic"),
    ("cargo", "build", "b"),
    ("cargo", "run", "r"),
    ("cargo", "test", "t"),
    ("cargo", "check", "c"),
    ("cargo", "doc", "d"),
    ("cargo", "remove", "rm"),
];

/// The other names of an option of a program.
pub(super) fn of(base: &str, option: &str) -> Vec<&'static str> {
    let rows =
        OPTIONS.iter().filter(|(programs, names)| has(programs, base) && names.contains(&option));
    rows.flat_map(|(_, names)| names.iter().copied()).filter(|name| *name != option).collect()
}

/// Whether a word is another name of a subcommand, or the beginning of it where that is enough.
pub(super) fn is_short_for(base: &str, text: &str, sub: &str) -> bool {
    base == "npm" && text.len() > 2 && sub.starts_with(text)
        || SUBCOMMANDS.iter().any(|(programs, whole, others)| {
            *whole == sub && has(programs, base) && has(others, text)
        })
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}
