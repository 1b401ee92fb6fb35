//! Files that a user attaches to a prompt.

use std::path::PathBuf;

use pi_agent::ToolError;
use pi_protocol::{ImageContent, UserBlock};

use crate::executor::FileKind;
use crate::workspace::Workspace;
use crate::{image, os_error, paths};

/// A file that a user attached to a prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AttachedFile {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Content of the file in a form that fits into a prompt.
    pub content: Attachment,
}

/// The content of an attached file.
#[derive(Debug, Clone, PartialEq)]
pub enum Attachment {
    /// A text file; invalid UTF-8 is replaced.
    Text(String),
    /// An image file.
    Image {
        /// The image, or `None` if no model can read it.
        image: Option<ImageContent>,
        /// Notes for the model, such as the factor by which the image was scaled.
        notes: Vec<String>,
    },
}

/// Reads a file that the user named. Other Unicode spellings of the name are tried too.
pub async fn attach(workspace: &Workspace, name: &str) -> Result<AttachedFile, ToolError> {
    let wanted = workspace.resolve(name);
    let mut found = None;
    for path in std::iter::once(wanted.clone()).chain(paths::variants(&wanted)) {
        if let Ok(stat) = workspace.executor().stat(&path).await {
            found = Some((path, stat.kind));
            break;
        }
    }
    let Some((path, kind)) = found else {
        return Err(ToolError::new(format!("File not found: {}", wanted.display())));
    };
    if kind != FileKind::File {
        return Err(ToolError::new(format!("Not a file: {}", path.display())));
    }
    let read = workspace.executor().read(&path, u64::MAX).await;
    let bytes = read.map_err(|error| os_error::on_path(&error, "open", &path))?;
    let Some(mime_type) = image::mime_type(&bytes) else {
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        return Ok(AttachedFile { path, content: Attachment::Text(text) });
    };
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
    Ok(AttachedFile { path, content: Attachment::Image { image, notes } })
}
