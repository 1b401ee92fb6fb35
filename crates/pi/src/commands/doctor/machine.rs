//! Checks of the program and the machine.

use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use pi_coding_agent::guard::GuardPlan;
use pi_coding_agent::{Environment, Project};
use pi_guard::confine::{ConfinementLevel, Machine};

use super::Finding;

/// Reports the version, the system and the working directory.
pub(super) fn program(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    let cwd = environment.cwd.display();
    let mut findings =
        vec![Finding::good("pi", format!("version {version} on {os} {architecture}, in {cwd}"))];
    if environment.home.is_none() {
        findings.push(Finding::warning(
            "home",
            "no home directory found",
            "Set HOME, or use absolute paths only.",
        ));
    }
    findings
}

/// Checks that there is a shell for commands.
pub(super) fn shell(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    const ABOUT: &str = "shell";
    if let Some(path) = &project.settings().shell_path {
        let shell = environment.expand(path, &environment.cwd);
        if shell.is_file() {
            return vec![Finding::good(ABOUT, format!("{} (shellPath)", shell.display()))];
        }
        let message =
            format!("shellPath is {}, which does not exist: every command fails", shell.display());
        return vec![Finding::error(
            ABOUT,
            message,
            "Correct or remove shellPath in settings.json.",
        )];
    }
    let usual = PathBuf::from("/bin/bash");
    let bash = usual.is_file().then_some(usual).or_else(|| find(environment, "bash"));
    if let Some(bash) = bash {
        return vec![Finding::good(ABOUT, bash.display().to_string())];
    }
    let fix = "Install bash, or set shellPath in settings.json.";
    vec![match find(environment, "sh") {
        Some(sh) => Finding::warning(ABOUT, format!("bash not found; using {}", sh.display()), fix),
        None => Finding::error(ABOUT, "no shell found", fix),
    }]
}

/// Checks for git, which pi does not need but most projects do.
pub(super) fn git(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    vec![match find(environment, "git") {
        Some(git) => Finding::good("git", git.display().to_string()),
        None => Finding::warning("git", "not found", "Install git if your projects use it."),
    }]
}

/// Checks the isolation that this machine offers for commands.
pub(super) fn sandbox(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    const ABOUT: &str = "sandbox";
    let machine = Machine::detect();
    let rung = machine.level();
    let required = GuardPlan::new(project.settings(), environment).require;
    if rung < required {
        let message = format!(
            "the settings require {required}, but this machine offers {rung} ({}): no command will run",
            machine.missing()
        );
        return vec![Finding::error(ABOUT, message, better(rung))];
    }
    let mut findings = vec![match rung {
        ConfinementLevel::Landlock => {
            let message = format!(
                "{rung} ({}): commands write only where they may and have no network, but changes \
                 of protected files (.git/config, hooks, .pi) are undone after a command instead of \
                 prevented, /tmp is read-only, and other processes are visible",
                machine.missing()
            );
            Finding::warning(ABOUT, message, better(rung))
        }
        ConfinementLevel::None => {
            let message = format!(
                "commands cannot be sandboxed ({}): they run with all your permissions",
                machine.missing()
            );
            Finding::warning(ABOUT, message, better(rung))
        }
        _ => {
            let message = format!(
                "{rung}: commands write only where they may, and see neither the network nor other \
                 processes"
            );
            Finding::good(ABOUT, message)
        }
    }];
    if let Some(problem) = machine.exec_watch_problem {
        let message = format!("rules are not checked when a program starts: {problem}");
        let fix = "Use Linux 5.5 or later; without this, rules judge only the text of commands.";
        findings.push(Finding::warning("rules", message, fix));
    }
    findings
}

/// Returns the instruction for a better level of isolation.
fn better(rung: ConfinementLevel) -> &'static str {
    match rung {
        ConfinementLevel::None if cfg!(target_os = "linux") => {
            "Use Linux 6.2 or later with Landlock, or run pi in a container."
        }
        ConfinementLevel::None => "Run pi in a container or in a virtual machine.",
        ConfinementLevel::Landlock => {
            "Install bubblewrap (package bubblewrap) and allow it to create user namespaces; \
             `pi help guard` describes the difference."
        }
        _ => "No higher level is available; lower guard.require.",
    }
}

/// Reports the properties of the terminal.
pub(super) fn terminal(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    let name = environment.variable("TERM").unwrap_or("not set");
    let color = environment.variable("COLORTERM").unwrap_or("not set");
    let kind = if std::io::stdout().is_terminal() { "a terminal" } else { "not a terminal" };
    vec![Finding::good("terminal", format!("stdout is {kind}; TERM {name}, COLORTERM {color}"))]
}

/// Finds a program on the `PATH`.
fn find(environment: &Environment, program: &str) -> Option<PathBuf> {
    pi_fs::find_program(program, None, environment.variable("PATH").map(OsStr::new))
}
