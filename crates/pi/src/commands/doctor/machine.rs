//! The program, and what it finds on the machine.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use pi_coding_agent::Environment;
use pi_coding_agent::guard::GuardPlan;
use pi_guard::confine::{ConfinementLevel, Machine};

use super::Finding;
use super::choices::load;

/// What runs, and where.
pub(super) fn program(environment: &Environment) -> Vec<Finding> {
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    let place = environment.cwd.display();
    let mut findings =
        vec![Finding::good("pi", format!("version {version} on {os} {architecture}, in {place}"))];
    if environment.home.is_none() {
        findings.push(Finding::warning(
            "home",
            "there is no home directory",
            "Set HOME, unless you name all files in full.",
        ));
    }
    findings
}

/// What commands of the model run in.
pub(super) fn shell(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "shell";
    let usual = PathBuf::from("/bin/bash");
    let bash = usual.is_file().then_some(usual).or_else(|| find(environment, "bash"));
    if let Some(bash) = bash {
        return vec![Finding::good(ABOUT, bash.display().to_string())];
    }
    let fix = "Install bash, or name a shell as shellPath in settings.json.";
    vec![match find(environment, "sh") {
        Some(sh) => {
            Finding::warning(ABOUT, format!("there is no bash, only {}", sh.display()), fix)
        }
        None => Finding::error(ABOUT, "there is no shell", fix),
    }]
}

/// Not needed by pi, but by most projects.
pub(super) fn git(environment: &Environment) -> Vec<Finding> {
    vec![match find(environment, "git") {
        Some(git) => Finding::good("git", git.display().to_string()),
        None => Finding::warning("git", "not found", "Install git if your projects use it."),
    }]
}

/// What commands can be confined with.
pub(super) fn sandbox(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "sandbox";
    let machine = Machine::detect();
    let rung = machine.level();
    let required = GuardPlan::new(load(environment).settings(), environment).require;
    if rung < required {
        let message = format!(
            "the settings require {required}, and this machine offers {rung} ({}): nothing will run",
            machine.missing()
        );
        return vec![Finding::error(ABOUT, message, better(rung))];
    }
    vec![match rung {
        ConfinementLevel::Landlock => {
            let message =
                format!("{rung}, which holds less than there could be ({})", machine.missing());
            Finding::warning(ABOUT, message, better(rung))
        }
        ConfinementLevel::None => {
            let message = format!("commands cannot be confined ({})", machine.missing());
            Finding::warning(ABOUT, message, better(rung))
        }
        _ => Finding::good(ABOUT, rung.to_string()),
    }]
}

/// What to do for more than this rung.
fn better(rung: ConfinementLevel) -> &'static str {
    match rung {
        ConfinementLevel::None if cfg!(target_os = "linux") => {
            "Use a kernel from Linux 6.2 on with Landlock, or run pi in a container where that \
             matters."
        }
        ConfinementLevel::None => {
            "Run pi in a container or in a virtual machine where that matters."
        }
        ConfinementLevel::Landlock => {
            "Install bubblewrap (package bubblewrap), and let it make user namespaces; \
             docs/guard.md says what that adds."
        }
        _ => "There is nothing higher; require less.",
    }
}

/// Where the output goes.
pub(super) fn terminal(environment: &Environment) -> Vec<Finding> {
    let name = environment.variable("TERM").unwrap_or("not set");
    let colour = environment.variable("COLORTERM").unwrap_or("not set");
    let kind = if std::io::stdout().is_terminal() { "a terminal" } else { "not a terminal" };
    vec![Finding::good("terminal", format!("stdout is {kind}; TERM {name}, COLORTERM {colour}"))]
}

/// A program on the `PATH`.
fn find(environment: &Environment, program: &str) -> Option<PathBuf> {
    let path = environment.variable("PATH")?;
    let names = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    names.map(|directory| directory.join(program)).find(|path| path.is_file())
}
