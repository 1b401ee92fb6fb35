//! Exports of sessions: formats, redaction, and files that are replaced atomically.
//!
//! A session file is never overwritten.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use pi_coding_agent::redacted_session;
use pi_fs::{Access, NewFile};
use pi_guard::secrets::Secrets;
use pi_session::{
    EffectsResolver, HtmlOptions, MarkdownOptions, OpenOptions, Session, SessionError,
};

/// Format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A single HTML page.
    Html,
    /// Markdown.
    Markdown,
    /// JSON lines: a session log.
    Jsonl,
    /// The Agent Trajectory Interchange Format.
    Atif,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Jsonl => "jsonl",
            Self::Atif => "json",
        }
    }

    /// Finds a format by its name or by a file extension.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "markdown" | "md" => Some(Self::Markdown),
            "jsonl" => Some(Self::Jsonl),
            "atif" => Some(Self::Atif),
            _ => None,
        }
    }

    /// Returns the format that the extension of an output file names; HTML without an extension.
    pub fn of_file(target: &Path) -> Result<Self, ExportError> {
        let Some(extension) = target.extension() else { return Ok(Self::Html) };
        let extension = extension.to_string_lossy();
        Self::named(&extension).ok_or_else(|| ExportError::UnknownFormat(extension.into_owned()))
    }
}

/// Reasons why a session cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The file of the session cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// File of the session.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The output file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Output file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The output file is another session.
    #[error("cannot write {}: it is a session file; choose another name", .0.display())]
    SessionFile(PathBuf),
    /// The output file is the exported session.
    #[error("cannot write {}: it is the exported session itself; choose another name", .0.display())]
    Itself(PathBuf),
    /// The output file exists.
    #[error("cannot write {}: it already exists; choose another name", .0.display())]
    Exists(PathBuf),
    /// The extension of the output file names no format.
    #[error("unknown format \".{0}\": expected .html, .md or .jsonl")]
    UnknownFormat(String),
}

/// Opens an existing session for reading.
pub fn open(path: &Path) -> Result<Session, ExportError> {
    if pi_session::read_header(path).is_none() {
        // The error of the system is more precise than "not a session".
        std::fs::File::open(path)
            .map_err(|source| ExportError::Read { path: path.to_owned(), source })?;
        return Err(SessionError::NotASession(path.to_owned()).into());
    }
    Ok(Session::open(path, &OpenOptions::read())?)
}

/// Redacts known secrets, and text that looks like a secret, in a session.
pub fn redacted(session: Session, secrets: &Secrets) -> Result<Session, ExportError> {
    Ok(redacted_session(&session, secrets)?.unwrap_or(session))
}

/// Returns the default name of the output file.
pub fn default_name(source: &Path, format: Format) -> PathBuf {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("pi-session-{stem}.{}", format.extension()))
}

/// Exports a session to a file. An existing file is replaced only with `replace`.
pub fn to_file(
    session: &mut Session,
    format: Format,
    target: &Path,
    replace: bool,
) -> Result<(), ExportError> {
    let failed = |source| ExportError::Write { path: target.to_owned(), source };
    if target.exists() && format != Format::Jsonl && pi_session::read_header(target).is_some() {
        return Err(ExportError::SessionFile(target.to_owned()));
    }
    if same_file(session.path(), target) {
        return Err(ExportError::Itself(target.to_owned()));
    }
    if target.exists() && !replace {
        return Err(ExportError::Exists(target.to_owned()));
    }
    let mut file = NewFile::create(target, Access::Default).map_err(failed)?;
    let mut out = BufWriter::new(&mut file);
    write(session, format, &mut out)?;
    out.flush().map_err(failed)?;
    drop(out);
    file.finish().map_err(failed)
}

fn same_file(source: Option<&Path>, target: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    source.and_then(canonical).is_some_and(|source| canonical(target) == Some(source))
}

/// Writes a session in a format.
pub fn write(
    session: &mut Session,
    format: Format,
    out: &mut impl Write,
) -> Result<(), SessionError> {
    let effects = EffectsResolver::new(pi_tools::toolset::effects_of);
    match format {
        Format::Html => session.export_html(&HtmlOptions::default().effects(effects), out),
        Format::Markdown => {
            session.export_markdown(&MarkdownOptions::default().effects(effects), out)
        }
        Format::Jsonl => session.export_jsonl(out),
        Format::Atif => session.export_atif(env!("CARGO_PKG_VERSION"), out),
    }
}
