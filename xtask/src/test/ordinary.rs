//! The tests of the sandbox in other set-ups than that of the whole run: as an ordinary user, and on
//! a machine without bubblewrap.
//!
//! Rights decide what a sandbox must do, and root has them all. So root makes an ordinary user, and
//! that user runs the programs that were built for the whole run. What cannot be run is named.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::TestError;
use crate::{report, repository};

/// Name of the user. It is made once and stays.
const USER: &str = "pi-tests";

/// A program of tests, and the tests in it that depend on the user or the level of the sandbox.
struct Program {
    /// Directory of the crate.
    package: &'static str,
    filters: &'static [&'static str],
    /// The tests cover bubblewrap themselves to test the level below.
    tests_levels: bool,
}

const PROGRAMS: &[Program] = &[
    Program {
        package: "crates/pi-guard",
        filters: &[
            "confine::",
            "devices::",
            "escapes::",
            "hidden::",
            "hosts::",
            "limits::",
            "places::",
            "programs::",
            "repositories::",
            "restored::",
            "watch::",
            "work::",
        ],
        tests_levels: true,
    },
    Program {
        package: "crates/pi",
        filters: &[
            "careful::",
            "guard::",
            "package_rights::",
            "restrictions::",
            "sandbox::",
            "unattended::",
            "watch::",
        ],
        tests_levels: false,
    },
];

/// Files that are covered so that there is no bubblewrap.
const BUBBLEWRAP: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// A set-up of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SetUp {
    is_ordinary: bool,
    without_bubblewrap: bool,
}

/// Runs the tests in all set-ups that this machine allows.
pub(super) fn run() -> Result<(), TestError> {
    if !is_root() {
        report(
            "NOT TESTED: the sandbox of root. Run `cargo xtask test` as root to test both users.",
        );
    }
    let account = if is_root() { account() } else { None };
    let programs = programs()?;
    let mut failed = false;
    for program in PROGRAMS {
        let Some((_, executable)) = programs.iter().find(|(package, _)| package == program.package)
        else {
            return Err(TestError::Failed);
        };
        for set_up in set_ups(program, account.is_some()) {
            let name = format!("{}{set_up}", program.package);
            report(&format!("Testing {name}"));
            if let Err(problem) = reachable(executable, set_up) {
                report(&format!("NOT TESTED: {name}: {problem}"));
                continue;
            }
            let home = home(account.filter(|_| set_up.is_ordinary))?;
            let mut command = command(executable, program, set_up, account, &home);
            failed |= !command.status()?.success();
            fs::remove_dir_all(&home)?;
        }
    }
    if failed { Err(TestError::Failed) } else { Ok(()) }
}

/// Returns the set-ups in which the whole run did not run the tests of a program.
fn set_ups(program: &Program, has_account: bool) -> Vec<SetUp> {
    let mut set_ups = Vec::new();
    for is_ordinary in [false, true] {
        for without_bubblewrap in [false, true] {
            let is_new = is_ordinary || without_bubblewrap;
            let is_useful = !(without_bubblewrap && program.tests_levels);
            if is_new && is_useful && (has_account || !is_ordinary) {
                set_ups.push(SetUp { is_ordinary, without_bubblewrap });
            }
        }
    }
    set_ups
}

impl std::fmt::Display for SetUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let user = if self.is_ordinary { ", as an ordinary user" } else { "" };
        let level = if self.without_bubblewrap { ", without bubblewrap" } else { "" };
        write!(f, "{user}{level}")
    }
}

/// Returns the program that runs the tests in a set-up.
fn command(
    executable: &Path,
    program: &Program,
    set_up: SetUp,
    account: Option<(u32, u32)>,
    home: &Path,
) -> Command {
    let mut words: Vec<String> = Vec::new();
    if set_up.without_bubblewrap {
        words.extend(uncovered().map(str::to_owned));
    }
    if let Some((user, group)) = account.filter(|_| set_up.is_ordinary) {
        words.extend(["setpriv".to_owned(), format!("--reuid={user}"), format!("--regid={group}")]);
        words.push("--clear-groups".to_owned());
    }
    words.push(executable.display().to_string());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(program.filters).arg("-q");
    command.current_dir(repository::path(program.package));
    if set_up.is_ordinary {
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command.env("HOME", home).env("USER", USER).env("LANG", "C.UTF-8");
        command.env("TMPDIR", home.join("tmp"));
    }
    command
}

/// Returns the words before a program that runs without bubblewrap: in its own view of the file
/// system, where a device covers the file.
fn uncovered() -> impl Iterator<Item = &'static str> {
    const COVER: &str = "while [ \"$1\" != -- ]; do \
        if [ -e \"$1\" ]; then mount --bind /dev/null \"$1\" || exit 1; fi; shift; done; \
        shift; exec \"$@\"";
    let words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", COVER, "sh"];
    words.into_iter().chain(BUBBLEWRAP).chain(["--"])
}

/// Returns an error if the tests cannot run in a set-up.
fn reachable(executable: &Path, set_up: SetUp) -> Result<(), String> {
    if set_up.without_bubblewrap {
        let words: Vec<&str> = uncovered().collect();
        let tried = Command::new(words[0]).args(&words[1..]).arg("true").output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            return Err("bubblewrap cannot be covered here (needs `unshare --mount`)".to_owned());
        }
    }
    if !set_up.is_ordinary {
        return Ok(());
    }
    // Every directory above the program must let others pass.
    for above in executable.ancestors().skip(1) {
        let mode = fs::metadata(above).map_or(0, |found| found.permissions().mode());
        if mode & 0o001 == 0 {
            return Err(format!("other users cannot enter {}", above.display()));
        }
    }
    Ok(())
}

/// Returns the user and group of the ordinary user, and makes that user if necessary.
fn account() -> Option<(u32, u32)> {
    let number = |option: &str| -> Option<u32> {
        let output = Command::new("id").args([option, USER]).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if number("-u").is_none() {
        let made = Command::new("useradd").args(["--no-create-home", USER]).output();
        if !made.is_ok_and(|made| made.status.success()) {
            report("NOT TESTED: the sandbox of an ordinary user: `useradd` cannot make one");
            return None;
        }
    }
    number("-u").zip(number("-g"))
}

/// Creates a home with a directory for temporary files.
fn home(account: Option<(u32, u32)>) -> Result<PathBuf, TestError> {
    let home = std::env::temp_dir().join(format!("pi-tests-{}", std::process::id()));
    let temporary = home.join("tmp");
    fs::create_dir_all(&temporary)?;
    if let Some((user, group)) = account {
        chown(&temporary, Some(user), Some(group))?;
        chown(&home, Some(user), Some(group))?;
        // Tests put files there that must not lie below `/tmp`.
        fs::set_permissions(repository::path("target/tmp"), Permissions::from_mode(0o1777))?;
    }
    Ok(home)
}

/// Returns the directories of crates and the programs of their tests, as the whole run built them.
fn programs() -> Result<Vec<(String, PathBuf)>, TestError> {
    let arguments = ["test", "--workspace", "--no-run", "--message-format=json"];
    let built =
        repository::cargo().args(arguments).stderr(std::process::Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err(TestError::Failed);
    }
    let text = String::from_utf8_lossy(&built.stdout);
    Ok(text.lines().filter_map(|line| test_program(line, &repository::root())).collect())
}

/// Returns the directory of a crate and its program, if a message of cargo is about `tests/it`.
fn test_program(line: &str, root: &Path) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["target"]["name"] != "it" || message["profile"]["test"] != true {
        return None;
    }
    let package = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = package.strip_prefix(root).ok()?.to_str()?.to_owned();
    Some((package, message["executable"].as_str()?.into()))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_found_in_the_messages_of_cargo() {
        let message = |name: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/crates/pi/Cargo.toml","target":{{"name":"{name}"}},"profile":{{"test":{test}}},"executable":"/r/target/debug/deps/it-1"}}"#
            )
        };
        let found = |line: &str| test_program(line, Path::new("/r"));
        let expected = ("crates/pi".to_owned(), PathBuf::from("/r/target/debug/deps/it-1"));
        assert_eq!(found(&message("it", true)), Some(expected));
        assert_eq!(found(&message("pi", true)), None);
        assert_eq!(found(&message("it", false)), None);
        assert_eq!(found("{\"reason\":\"build-finished\"}"), None);
    }

    #[test]
    fn every_set_up_that_the_whole_run_leaves_out_is_run() {
        let names = |program: &Program, has_account| -> Vec<String> {
            set_ups(program, has_account).iter().map(ToString::to_string).collect()
        };
        let (ordinary, without) = (", as an ordinary user", ", without bubblewrap");
        let both = ", as an ordinary user, without bubblewrap";
        assert_eq!(names(&PROGRAMS[0], true), [ordinary]);
        assert_eq!(names(&PROGRAMS[0], false), [""; 0]);
        assert_eq!(names(&PROGRAMS[1], true), [without, ordinary, both]);
        assert_eq!(names(&PROGRAMS[1], false), [without]);
    }
}
