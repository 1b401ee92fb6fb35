//! Files that a user attaches to a prompt.

use std::io::Read;
use std::path::PathBuf;

use pi_agent::ToolError;
use pi_protocol::{ImageContent, UserBlock};

use crate::executor::FileKind;
use crate::truncate::{MAX_BYTES, format_size};
use crate::workspace::Workspace;
use crate::{image, os_error, paths};

/// Largest text that is attached whole. It is about the context of the largest models.
const MOST_TEXT: u64 = 4 * 1024 * 1024;
/// Largest image file that is decoded.
const MOST_IMAGE: u64 = 64 * 1024 * 1024;
/// The part of a file in which a zero byte shows that it is binary.
const EXAMINED: usize = 8 * 1024;

/// A file that a user attached to a prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AttachedFile {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Content of the file in a form that fits into a prompt.
    pub content: Attachment,
    /// A description of what was left out, for the user.
    pub warning: Option<String>,
}

/// The content of an attached file.
#[derive(Debug, Clone, PartialEq)]
pub enum Attachment {
    /// A text file without its byte order mark; invalid UTF-8 is replaced. A file that is too large
    /// is cut, with a note for the model at the end.
    Text(String),
    /// A file without content for the model, which reads this note instead.
    Note(String),
    /// An image file.
    Image {
        /// The image, or `None` if no model can read it.
        image: Option<ImageContent>,
        /// Notes for the model, such as the factor by which the image was scaled.
        notes: Vec<String>,
    },
}

/// Reads a regular file that the user named. Other Unicode spellings of the name are tried too.
pub async fn attach(workspace: &Workspace, name: &str) -> Result<AttachedFile, ToolError> {
    let wanted = workspace.resolve(name);
    let mut found = None;
    for path in std::iter::once(wanted.clone()).chain(paths::variants(&wanted)) {
        if let Ok(stat) = workspace.executor().stat(&path).await {
            found = Some((path, stat));
            break;
        }
    }
    let Some((path, stat)) = found else {
        return Err(ToolError::new(format!("File not found: {}", wanted.display())));
    };
    if stat.kind != FileKind::File {
        return Err(ToolError::new(format!("Not a file: {}", path.display())));
    }
    let failed = |error: std::io::Error| os_error::on_path(&error, "open", &path);
    let mut file = workspace.executor().open(&path).await.map_err(failed)?;
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        file.by_ref().take(MOST_TEXT + 1).read_to_end(&mut bytes)?;
        if image::mime_type(&bytes).is_some() {
            file.take(MOST_IMAGE).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    });
    let read = read.await.map_err(|error| ToolError::new(error.to_string()))?;
    let bytes = read.map_err(failed)?;
    let size =
        format_size(usize::try_from(stat.size.max(bytes.len() as u64)).unwrap_or(usize::MAX));
    let (content, warning) = match image::mime_type(&bytes) {
        Some(_) if bytes.len() as u64 > MOST_IMAGE => {
            (Attachment::Note(format!("[Image of {size} omitted: too large.]")), Some("too large"))
        }
        Some(mime_type) => show(workspace, bytes, mime_type).await?,
        None => text(bytes, &size),
    };
    let warning = warning.map(|what| format!("{} ({size}): {what}", path.display()));
    Ok(AttachedFile { path, content, warning })
}

/// Returns a text, or a note if the content is not a text. Also returns what was left out.
fn text(bytes: Vec<u8>, size: &str) -> (Attachment, Option<&'static str>) {
    if bytes.is_empty() {
        let note = "[The file is empty.]".to_owned();
        return (Attachment::Note(note), Some("the file is empty"));
    }
    let is_image = bytes.starts_with(b"\x89PNG\r\n");
    if is_image || bytes.iter().take(EXAMINED).any(|byte| *byte == 0) {
        let note = format!("[Binary file of {size}; its content is not included.]");
        return (Attachment::Note(note), Some("binary, so its content is not included"));
    }
    let is_large = bytes.len() as u64 > MOST_TEXT;
    let mut text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    if !is_large {
        return (Attachment::Text(text), None);
    }
    text.truncate(text.floor_char_boundary(MAX_BYTES));
    let included = format_size(MAX_BYTES);
    text.push_str(&format!("\n[Only the first {included} of {size} are included.]"));
    (Attachment::Text(text), Some("too large, so only the beginning is included"))
}

/// Returns an image in a form that models accept. Also returns what was left out.
async fn show(
    workspace: &Workspace,
    bytes: Vec<u8>,
    mime_type: &'static str,
) -> Result<(Attachment, Option<&'static str>), ToolError> {
    let images = image::ImageSettings { supported: true, ..workspace.image_settings() };
    let shown = tokio::task::spawn_blocking(move || image::show(bytes, mime_type, &images)).await;
    let shown = shown.map_err(|error| ToolError::new(error.to_string()))?;
    let (mut image, mut notes) = (None, Vec::new());
    for block in shown.content {
        match block {
            UserBlock::Image(content) => image = Some(content),
            other => {
                let text = other.as_text().unwrap_or_default();
                // The first line only says that the file is an image.
                notes.extend(text.lines().skip(1).map(str::to_owned));
            }
        }
    }
    let omitted = image.is_none().then_some("the image cannot be decoded, so it is not included");
    Ok((Attachment::Image { image, notes }, omitted))
}
