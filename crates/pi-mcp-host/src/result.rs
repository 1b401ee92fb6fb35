//! Results of a server's tools and resources, as models and programs get them.
//!
//! Long texts are cut in the middle and saved as a whole; what is no text is saved, or passed on as
//! an image. Pure but for [`Files`].

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_agent::ToolOutput;
use pi_coding_agent::guard::mark_untrusted;
use pi_mcp::client::json_size;
use pi_mcp::protocol::{CallToolResult, ContentBlock, Resource, ResourceContents};
use pi_protocol::UserBlock;
use serde_json::{Value, json};

use crate::images::{self, Room};
use crate::text::{ERROR, clean, clean_line};

/// The longest text for a model, in bytes. More is cut in the middle.
const LONGEST_TEXT: usize = 20 << 10;

/// The longest address that names a part of a result, in bytes.
const LONGEST_URI: usize = 2 << 10;

/// The largest result that is kept as data. The session log contains it.
const LARGEST_DATA: usize = 4 << 20;

/// The directory for results that are too long or that no model can read.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    directory: PathBuf,
}

impl Files {
    pub(crate) fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Saves bytes in a new file that only this user can read.
    fn save(&self, bytes: &[u8], extension: &str) -> io::Result<PathBuf> {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let name = format!("pi-mcp-{}.{extension}", id.get(..16).unwrap_or(&id));
        let path = self.directory.join(name);
        pi_fs::private_file().write(true).create_new(true).open(&path)?.write_all(bytes)?;
        Ok(path)
    }
}

/// Returns the output of a tool call.
pub(crate) fn tool_output(
    server: &str,
    tool: &str,
    mut result: CallToolResult,
    files: &Files,
) -> ToolOutput {
    // Scripts get the same fields from servers of both eras.
    (result.meta, result.result_type) = (None, None);
    let is_error = result.is_error.unwrap_or(false);
    let mut room = Room::default();
    let blocks = result.content.iter().map(|item| block(item, server, files, &mut room));
    let mut content: Vec<UserBlock> = blocks.collect();
    if content.is_empty()
        && let Some(data) = result.structured_content.as_ref().filter(|data| !data.is_null())
    {
        content.push(UserBlock::text(serde_json::to_string_pretty(data).unwrap_or_default()));
    }
    if is_error && !content.iter().any(|block| block.as_text().is_some()) {
        content.push(UserBlock::text(format!("MCP tool {server}/{tool} returned an error")));
    }
    let data = serde_json::to_value(result).unwrap_or_default();
    finish(server, tool, content, data, files).with_is_error(is_error)
}

/// Returns the output of a call that the server answered with an error.
pub(crate) fn error_output(server: &str, tool: &str, message: &str) -> ToolOutput {
    let details = json!({ "server": server, "tool": tool });
    let message = clean(message, ERROR);
    mark_untrusted(ToolOutput::text(message).with_details(details).with_is_error(true))
}

/// Returns the output of reading a resource.
pub(crate) fn resource_output(
    server: &str,
    uri: &str,
    items: &[ResourceContents],
    files: &Files,
) -> ToolOutput {
    let mut room = Room::default();
    let mut content = Vec::new();
    for item in items {
        // A directory, for example, consists of several resources.
        if items.len() > 1 {
            content.push(UserBlock::text(format!("{}:", clean_line(&item.uri, LONGEST_URI))));
        }
        content.push(resource(item, files, &mut room));
    }
    if items.is_empty() {
        let uri = clean_line(uri, LONGEST_URI);
        content.push(UserBlock::text(format!("The resource {uri} is empty.")));
    }
    let data = json!({ "server": server, "uri": uri, "contents": items });
    finish(server, "read_mcp_resource", content, data, files)
}

/// Bounds the content and the data, and adds the details.
pub(crate) fn finish(
    server: &str,
    tool: &str,
    content: Vec<UserBlock>,
    data: Value,
    files: &Files,
) -> ToolOutput {
    let mut details = json!({ "server": server, "tool": tool });
    let (content, saved) = bounded(content, files);
    if let Some(path) = saved {
        details["fullOutputPath"] = path.to_string_lossy().into();
    }
    let data = (json_size(&data) <= LARGEST_DATA).then_some(data);
    let output = ToolOutput::blocks(content).with_details(details);
    mark_untrusted(output.with_structured_content(data))
}

/// Cuts the texts in the middle if they are too long together. Images follow the text.
fn bounded(content: Vec<UserBlock>, files: &Files) -> (Vec<UserBlock>, Option<PathBuf>) {
    let texts = content.iter().filter_map(UserBlock::as_text);
    let length: usize = texts.clone().map(|text| text.len() + 1).sum();
    if length.saturating_sub(1) <= LONGEST_TEXT {
        return (content, None);
    }
    let whole = texts.collect::<Vec<_>>().join("\n");
    let (text, saved) = match files.save(whole.as_bytes(), "txt") {
        Ok(path) => (cut(&whole, &full_output(&path)), Some(path)),
        Err(error) => (cut(&whole, &format!("[The full output was not saved: {error}]")), None),
    };
    let images = content.into_iter().filter(|block| block.as_text().is_none());
    (std::iter::once(UserBlock::text(text)).chain(images).collect(), saved)
}

fn full_output(path: &Path) -> String {
    format!("[Full output: {} (read it with offset/limit)]", path.display())
}

/// Returns the beginning and the end of a text, with a note on what is missing.
fn cut(whole: &str, note: &str) -> String {
    let half = LONGEST_TEXT / 2;
    let head = whole.get(..whole.floor_char_boundary(half)).unwrap_or_default();
    let from = whole.ceil_char_boundary(whole.len().saturating_sub(half));
    let tail = whole.get(from..).unwrap_or_default();
    let removed = whole.get(head.len()..from).unwrap_or_default().chars().count();
    let (tokens, lines) = (whole.len().div_ceil(4), whole.lines().count());
    format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: {lines}\
         \n\n{head}…{removed} chars truncated…{tail}\n\n{note}"
    )
}

/// Returns one item of a tool result for a model.
fn block(item: &ContentBlock, server: &str, files: &Files, room: &mut Room) -> UserBlock {
    match item {
        ContentBlock::Text { text, .. } => UserBlock::text(text),
        ContentBlock::Image { data, mime_type, .. } => image(data, mime_type, files, room),
        ContentBlock::Audio { mime_type, .. } => {
            UserBlock::text(format!("[audio {mime_type} omitted]"))
        }
        ContentBlock::ResourceLink(linked) => UserBlock::text(link(linked, server)),
        ContentBlock::Resource { resource: embedded, .. } => resource(embedded, files, room),
        ContentBlock::Other(other) => {
            let kind = other.get("type").and_then(Value::as_str).unwrap_or("without a type");
            UserBlock::text(format!("[unsupported MCP content {kind}]"))
        }
    }
}

/// Returns the content of a resource for a model.
fn resource(item: &ResourceContents, files: &Files, room: &mut Room) -> UserBlock {
    if let Some(text) = &item.text {
        return UserBlock::text(text);
    }
    let (uri, kind) = (&item.uri, item.mime_type.as_deref());
    let Some(blob) = &item.blob else {
        return UserBlock::text(format!("[Resource {uri} is empty]"));
    };
    if let Some(kind) = kind.filter(|kind| kind.starts_with("image/")) {
        return image(blob, kind, files, room);
    }
    let Ok(bytes) = STANDARD.decode(blob) else {
        return UserBlock::text(format!("[Resource {uri} has invalid base64 data]"));
    };
    if kind.is_some_and(is_textual) {
        return UserBlock::text(String::from_utf8_lossy(&bytes));
    }
    let (shown, size) = (kind.unwrap_or("unknown type"), readable_size(bytes.len() as f64));
    UserBlock::text(match files.save(&bytes, "bin") {
        Ok(path) => {
            format!("[Binary resource {uri} ({shown}, {size}) saved to {}]", path.display())
        }
        Err(error) => format!("[Binary resource {uri} ({shown}, {size}) was not saved: {error}]"),
    })
}

/// Returns an image for a model, or a note if no model accepts it, or if the result has too many.
fn image(data: &str, shown: &str, files: &Files, room: &mut Room) -> UserBlock {
    let Ok(bytes) = STANDARD.decode(data) else {
        return UserBlock::text(format!("[image {shown} omitted: invalid base64 data]"));
    };
    if bytes.is_empty() {
        return UserBlock::text(format!("[image {shown} omitted: it is empty]"));
    }
    if let Some(kind) = images::kind(&bytes)
        && room.take(data.len())
    {
        return UserBlock::image(data, kind);
    }
    let size = readable_size(bytes.len() as f64);
    UserBlock::text(match files.save(&bytes, "bin") {
        Ok(path) => format!("[Image ({shown}, {size}) saved to {}]", path.display()),
        Err(error) => format!("[Image ({shown}, {size}) was not saved: {error}]"),
    })
}

fn link(item: &Resource, server: &str) -> String {
    let title = item.title.as_ref().unwrap_or(&item.name);
    let mut text = format!("[Resource {} \"{title}\"", item.uri);
    let size = item.size.map(|size| readable_size(size as f64));
    let facts: Vec<String> = item.mime_type.iter().cloned().chain(size).collect();
    if !facts.is_empty() {
        text.push_str(&format!(" ({})", facts.join(", ")));
    }
    if let Some(description) = &item.description {
        text.push_str(&format!(": {description}"));
    }
    text.push_str(&format!(". Read it with read_mcp_resource (server \"{server}\")]"));
    text
}

fn is_textual(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.starts_with("text/")
        || matches!(kind.as_str(), "application/json" | "application/xml")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

fn readable_size(bytes: f64) -> String {
    const KILO: f64 = 1024.0;
    if bytes < KILO {
        format!("{bytes:.0}B")
    } else if bytes < KILO * KILO {
        format!("{:.1}KB", bytes / KILO)
    } else {
        format!("{:.1}MB", bytes / KILO / KILO)
    }
}

#[cfg(test)]
mod tests;
