//! Functions that only some files may call.

use super::Finding;
use crate::files::SourceFile;

/// A function with the only files that may call it.
struct Rule {
    call: &'static str,
    files: &'static [&'static str],
    advice: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        call: "SettingsStore::load(",
        files: &["crates/pi-config/src/project.rs"],
        advice: "settings are loaded by `Project::open`; pass the opened project down",
    },
    Rule {
        call: "Project::open(",
        files: &[
            "crates/pi-acp/src/server.rs",
            "crates/pi-coding-agent/src/create/options.rs",
            "crates/pi/src/commands/complete.rs",
            "crates/pi/src/commands/packages.rs",
            "crates/pi/src/commands/project.rs",
            "crates/pi/src/commands/trust.rs",
            "crates/pi/src/modes/hosting.rs",
            "crates/pi/src/modes/setup.rs",
            // A request of a program is the start of something, as a session is.
            "crates/pi-serve/src/api/proxy.rs",
        ],
        advice: "a project is opened where a mode, a command or a session starts; pass it down",
    },
];

/// Reports calls from other files. Tests may call everything.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_source() && file.path.starts_with("crates/")) {
        for rule in RULES.iter().filter(|rule| !rule.files.contains(&file.path.as_str())) {
            let calls = file.product_lines().filter(|(_, line)| line.contains(rule.call));
            findings.extend(calls.map(|(at, _)| Finding::new(&file.path, at, rule.advice)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_from_another_file_is_found() {
        let text = "//! A.\n\nfn a() {\n    SettingsStore::load(&environment, true);\n}\n";
        let file = |path: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let found = check(&[file("crates/pi/src/a.rs")]);
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), [4]);
        assert!(check(&[file("crates/pi-config/src/project.rs")]).is_empty());
        assert!(check(&[file("crates/pi/tests/a.rs"), file("bench/src/a.rs")]).is_empty());
    }
}
