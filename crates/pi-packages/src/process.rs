//! External programs: git, and the command that the user set as npm. They never ask questions.

use std::path::Path;
use std::process::Stdio;

use pi_base::process::{self, Rights, Variables};
use pi_config::Environment;
use tokio::process::Command;

use crate::PackageError;

/// The output of a program that succeeded.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program in a directory, with the variables of the environment and further ones; an empty
/// value removes one. Fails if the program fails, with its error output in `errors`.
pub(crate) async fn run(
    program: &str,
    arguments: &[String],
    directory: &Path,
    environment: &Environment,
    variables: &[(&str, &str)],
    errors: &mut String,
) -> Result<Output, PackageError> {
    let start = process::command(program, Some(directory), Variables::Inherited, Rights::User);
    let mut command = Command::from(start);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    command.envs(environment.variables.iter());
    for (name, value) in variables {
        if value.is_empty() {
            command.env_remove(name);
        } else {
            command.env(name, value);
        }
    }
    let started = command.output().await;
    let output =
        started.map_err(|source| PackageError::Program { program: program.to_owned(), source })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        errors.push_str(&stderr);
        return Err(PackageError::Command {
            command: format!("{program} {}", arguments.join(" ")),
            code: output.status.code(),
        });
    }
    Ok(Output { stdout, stderr })
}
