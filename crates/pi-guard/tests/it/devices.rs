//! Terminals of other programs, devices, and new files with the rights of their owner: real
//! attempts, on every level that the machine offers.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use pi_guard::confine::ConfinementLevel;

use crate::env::{TestEnv, confined, levels, not_tested, text};

/// A program with a terminal of its own, outside of the sandbox.
struct Terminal {
    program: Child,
    name: String,
}

impl Terminal {
    fn open(env: &TestEnv) -> Self {
        let mut program = Command::new(env.path("attempt"))
            .arg("hold-terminal")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut name = String::new();
        BufReader::new(program.stdout.as_mut().unwrap()).read_line(&mut name).unwrap();
        Self { program, name: name.trim().to_owned() }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.program.stdin.take());
        let _ = self.program.wait();
    }
}

/// Attempts on `$T`, the terminal of another program.
const ON_A_TERMINAL: &[&str] = &[
    "$A open-read $T",
    "$A open-write $T",
    "echo x > $T",
    "exec 3<>$T",
    "ln -s $T src/t && $A open-write src/t",
    "$A open-write /proc/self/root$T",
];

#[test]
fn terminals_of_other_programs_are_out_of_reach() {
    for script in ON_A_TERMINAL {
        let env = TestEnv::new();
        let terminal = Terminal::open(&env);
        let variables = [("T", terminal.name.clone())];
        let output = env.run_with(None, "ws", script, &variables);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let env = TestEnv::new();
            let confined = confined(&env.confinement(), &machine);
            let output = env.run_with(Some(&confined), "ws", script, &variables);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
        }
    }
}

/// A command keeps the terminal that it was given.
#[test]
fn the_terminal_of_a_command_can_be_opened_again() {
    for (level, machine) in levels() {
        // Inside of bubblewrap, terminals have a file system of their own.
        if level == ConfinementLevel::Bubblewrap {
            continue;
        }
        let env = TestEnv::new();
        let terminal = Terminal::open(&env);
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&terminal.name).unwrap();
        let confined = confined(&env.confinement(), &machine);
        let script = "tty && echo x > /dev/stdout && exec 3<>$T";
        let variables = [("T", terminal.name.clone())];
        let mut command = env.start(Some(&confined), "ws", script, &variables, Command::new);
        command.stdin(file.try_clone().unwrap()).stdout(file);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{level}: {}", text(&output));
    }
}

#[test]
fn only_harmless_devices_can_be_opened() {
    let harmless = ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "fd/2"];
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let confined = confined(&env.confinement(), &machine);
        for device in harmless {
            let script = format!(": | $A open-read /dev/{device} | cat");
            let output = env.run(Some(&confined), "ws", &format!("set -o pipefail; {script}"));
            assert!(output.status.success(), "{level}, {device}: {}", text(&output));
        }
        let mut tried = 0;
        for entry in std::fs::read_dir("/dev").unwrap().flatten() {
            let device = entry.path();
            let name = entry.file_name().into_string().unwrap();
            // Links lead to `/proc`; bubblewrap has terminals of its own.
            let own = ["tty", "ptmx", "console"].contains(&name.as_str());
            if entry.file_type().unwrap().is_symlink()
                || entry.file_type().unwrap().is_dir()
                || harmless.contains(&name.as_str())
                || (own && level == ConfinementLevel::Bubblewrap)
            {
                continue;
            }
            if std::fs::File::open(&device).is_err() {
                not_tested(&format!("{}, which cannot be opened here", device.display()));
                continue;
            }
            let output =
                env.run(Some(&confined), "ws", &format!("$A open-read {}", device.display()));
            assert!(!output.status.success(), "{level}, {name}: {}", text(&output));
            tried += 1;
        }
        if tried == 0 {
            not_tested("devices: this user can open none of them");
        }
    }
}

#[test]
fn new_files_do_not_get_the_rights_of_their_owner() {
    for how in ["open", "creat", "openat", "openat2", "unnamed"] {
        let path = if how == "unnamed" { "src" } else { "src/new" };
        for mode in ["4755", "2755", "6777"] {
            let script = format!("umask 0; $A new-set-id {how} {path} {mode}");
            let env = TestEnv::new();
            let output = env.run(None, "ws", &script);
            assert!(output.status.success(), "{script}: {}", text(&output));
            for (level, machine) in levels() {
                let env = TestEnv::new();
                let confined = confined(&env.confinement(), &machine);
                let output = env.run(Some(&confined), "ws", &script);
                assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
                assert!(!env.path("ws/src/new").exists(), "{level}, {script}");
            }
        }
    }
}
