//! Files that a user puts beside a prompt.

use std::path::PathBuf;

use pi_agent::ToolError;
use pi_protocol::{ImageContent, UserBlock};

use crate::executor::FileKind;
use crate::workspace::Workspace;
use crate::{image, os_error, paths};

/// The content of a file, fit for a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Attachment {
    /// Text.
    Text(String),
    /// An image, unless it cannot be shown, and what the model should know of it.
    Image(Option<ImageContent>, Vec<String>),
}

/// Reads a file that a user named, by its name or another spelling of it. Also returns its path.
pub async fn attach(workspace: &Workspace, name: &str) -> Result<(PathBuf, Attachment), ToolError> {
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
        return Ok((path, Attachment::Text(text)));
    };
    let images = image::Images { visible: true, ..workspace.images() };
    let shown = tokio::task::spawn_blocking(move || image::show(bytes, mime_type, &images)).await;
    let shown = shown.map_err(|error| ToolError::new(error.to_string()))?;
    let (mut content, mut hints) = (None, Vec::new());
    for block in shown.content {
        match block {
            UserBlock::Image(image) => content = Some(image),
            // The first line says that it is an image, which everybody knows.
            other => {
                hints
                    .extend(other.as_text().unwrap_or_default().lines().skip(1).map(str::to_owned));
            }
        }
    }
    Ok((path, Attachment::Image(content, hints)))
}
