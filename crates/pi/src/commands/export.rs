//! Exports of sessions: `pi --export`, and standard output as a target.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use pi_host::export::{self, ExportError, Format, default_name, open, to_file};
use pi_session::Session;

use super::{CommandResult, Failure, success};
use crate::exit::print;
use crate::{environment, secrets};

/// Runs `pi --export FILE [OUT]`.
pub(crate) fn page(file: &str, out: Option<&str>) -> ExitCode {
    let result = environment::read().map_err(Failure::failed).and_then(|environment| {
        let source = environment.expand(file, &environment.cwd);
        if !source.exists() {
            return Err(Failure::failed(format!("File not found: {}", source.display())));
        }
        let written = out.map_or_else(|| default_name(&source, Format::Html), PathBuf::from);
        let target = environment.expand(&written.to_string_lossy(), &environment.cwd);
        to_file(&mut redacted(open(&source)?)?, Format::Html, &target, true)?;
        Ok(print(&format!("Exported to: {}\n", written.display())))
    });
    result.unwrap_or_else(|failure| failure.report())
}

/// Redacts the secrets of this process, and text that looks like a secret, in a session.
pub(crate) fn redacted(session: Session) -> Result<Session, ExportError> {
    export::redacted(session, secrets::own())
}

/// Exports a session to stdout.
pub(super) fn to_stdout(session: &mut Session, format: Format) -> CommandResult {
    let mut out = BufWriter::new(std::io::stdout().lock());
    export::write(session, format, &mut out)?;
    out.flush()?;
    Ok(success())
}
