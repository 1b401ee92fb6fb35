//! Exports of sessions: `pi --export` and `pi sessions export`.
//!
//! Files are replaced atomically, and a session file is never overwritten.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pi_coding_agent::redacted_session;
use pi_session::{EffectsResolver, HtmlOptions, MarkdownOptions, OpenOptions, Session};

use super::{CommandResult, Failure, success};
use crate::exit::print;
use crate::{environment, secrets};

/// Format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Html,
    Markdown,
    Jsonl,
    Atif,
}

impl Format {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Jsonl => "jsonl",
            Self::Atif => "json",
        }
    }

    /// Finds a format by its name or by a file extension.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "markdown" | "md" => Some(Self::Markdown),
            "jsonl" => Some(Self::Jsonl),
            "atif" => Some(Self::Atif),
            _ => None,
        }
    }
}

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

/// Opens an existing session for reading.
pub(crate) fn open(path: &Path) -> Result<Session, Failure> {
    if pi_session::read_header(path).is_none() {
        // The error of the system is more precise than "not a session".
        std::fs::File::open(path)
            .map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))?;
        return Err(pi_session::SessionError::NotASession(path.to_owned()).into());
    }
    Ok(Session::open(path, &OpenOptions::read())?)
}

/// Redacts the secrets of this process, and text that looks like a secret, in a session.
pub(crate) fn redacted(session: Session) -> Result<Session, Failure> {
    Ok(redacted_session(&session, secrets::own())?.unwrap_or(session))
}

/// Returns the default name of the output file.
pub(crate) fn default_name(source: &Path, format: Format) -> PathBuf {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("pi-session-{stem}.{}", format.extension()))
}

/// Exports a session to a file.
pub(crate) fn to_file(
    session: &mut Session,
    format: Format,
    target: &Path,
    replace: bool,
) -> Result<(), Failure> {
    let failed = |problem: &dyn std::fmt::Display| {
        Failure::failed(format!("cannot write {}: {problem}", target.display()))
    };
    if target.exists() && format != Format::Jsonl && pi_session::read_header(target).is_some() {
        return Err(failed(&"it is a session file; choose another name"));
    }
    if same_file(session.path(), target) {
        return Err(failed(&"it is the exported session itself; choose another name"));
    }
    if target.exists() && !replace {
        return Err(failed(&"it already exists; choose another name, or add --force"));
    }
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // The permissions of any new file; the umask applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file =
        builder.tempfile_in(directory.unwrap_or(Path::new("."))).map_err(|error| failed(&error))?;
    let mut out = BufWriter::new(&mut file);
    write(session, format, &mut out)?;
    out.flush().map_err(|error| failed(&error))?;
    drop(out);
    file.persist(target).map_err(|error| failed(&error.error))?;
    Ok(())
}

fn same_file(source: Option<&Path>, target: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    source.and_then(canonical).is_some_and(|source| canonical(target) == Some(source))
}

/// Exports a session to stdout.
pub(super) fn to_stdout(session: &mut Session, format: Format) -> CommandResult {
    let mut out = BufWriter::new(std::io::stdout().lock());
    write(session, format, &mut out)?;
    out.flush()?;
    Ok(success())
}

fn write(session: &mut Session, format: Format, out: &mut impl Write) -> Result<(), Failure> {
    let effects = EffectsResolver::new(pi_tools::toolset::effects_of);
    match format {
        Format::Html => session.export_html(&HtmlOptions::default().effects(effects), out)?,
        Format::Markdown => {
            session.export_markdown(&MarkdownOptions::default().effects(effects), out)?;
        }
        Format::Jsonl => session.export_jsonl(out)?,
        Format::Atif => session.export_atif(env!("CARGO_PKG_VERSION"), out)?,
    }
    Ok(())
}
