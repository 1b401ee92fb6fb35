//! The project of a command: opened once, with its problems on stderr.

use pi_coding_agent::Project;

use super::Failure;
use crate::environment;
use crate::exit::note;
use crate::flags::parse::CommandArgs;

/// Opens the project in the working directory. `--approve` and `--no-approve` decide about trust.
/// Problems of its files are reported.
pub(super) fn open(args: &CommandArgs) -> Result<Project, Failure> {
    let mut project = open_silently()?;
    project.set_approval(match (args.has("approve"), args.has("no-approve")) {
        (true, true) => {
            return Err(Failure::usage("--approve cannot be combined with --no-approve"));
        }
        (true, false) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    });
    report(&project);
    Ok(project)
}

/// Opens the project in the working directory, for a command that reports problems in its own way.
pub(super) fn open_silently() -> Result<Project, Failure> {
    Ok(Project::open(environment::read().map_err(Failure::failed)?))
}

/// Reports the problems of the files as warnings.
pub(super) fn report(project: &Project) {
    project.problems().iter().for_each(|problem| note(&format!("warning: {problem}")));
}
