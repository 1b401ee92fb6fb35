//! The programs that the checks of the tests need, as this machine has them.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// Returns the search path for commands: first the programs themselves that version managers put in
/// place, since the managers need the home directory of the user.
pub(super) fn search_path() -> &'static str {
    static SEARCH_PATH: LazyLock<String> = LazyLock::new(|| {
        let answer = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            Some(format!("{}/bin", text.trim()))
        };
        let mut directories: Vec<String> = Vec::new();
        directories.extend(answer("rustc", &["--print", "sysroot"]));
        directories.extend(answer("python3", &["-c", "import sys; print(sys.prefix)"]));
        directories.extend(std::env::var("PATH"));
        directories.extend(["/usr/bin".to_owned(), "/bin".to_owned()]);
        directories.join(":")
    });
    &SEARCH_PATH
}

/// Returns the path of a program.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(search_path()).map(|path| path.join(name)).find(|path| path.is_file())
}

/// Returns true if the machine has all of these programs. Otherwise says which test is skipped.
pub(super) fn has(programs: &[&str], test: &str) -> bool {
    let missing: Vec<&str> =
        programs.iter().filter(|name| program(name).is_none()).copied().collect();
    if !missing.is_empty() {
        skipped(test, &format!("no {}", missing.join(", ")));
    }
    missing.is_empty()
}

/// Reports a test that is skipped.
#[allow(clippy::print_stderr)]
pub(super) fn skipped(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}
