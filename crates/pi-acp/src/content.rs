//! The content of prompts: blocks of the client become the text and the images of a message.

use pi_jsonrpc::Error;
use pi_protocol::ImageContent;
use serde::Deserialize;
use serde_json::Value;

/// A prompt as the session takes it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PromptContent {
    pub(crate) text: String,
    pub(crate) images: Vec<ImageContent>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Block {
    Text { text: String },
    Image { data: String, mime_type: String },
    Audio {},
    ResourceLink { uri: String, name: Option<String> },
    Resource { resource: Resource },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

/// Converts the blocks of a prompt. Texts are joined as they are, since editors split them at
/// mentions. A mention of a file becomes a link to it; the content of an embedded one follows the
/// text.
pub(crate) fn convert(blocks: Vec<Value>) -> Result<PromptContent, Error> {
    let mut content = PromptContent::default();
    let mut attached = String::new();
    for block in blocks {
        let kind = block["type"].as_str().unwrap_or_default().to_owned();
        let block: Block = serde_json::from_value(block).map_err(|error| {
            Error::invalid_params(format!("a content block of the type {kind:?}: {error}"))
        })?;
        match block {
            Block::Text { text } => content.text.push_str(&text),
            Block::Image { data, mime_type } => {
                content.images.push(ImageContent::new(data, mime_type));
            }
            Block::Audio {} => {
                return Err(Error::invalid_params(
                    "audio is not supported; send a transcript as text",
                ));
            }
            Block::ResourceLink { uri, name } => content.text.push_str(&link(&uri, name)),
            Block::Resource { resource } => {
                let Resource { uri, mime_type, text, blob } = resource;
                let mime_type = mime_type.unwrap_or_default();
                match (text, blob) {
                    (Some(text), _) => {
                        content.text.push_str(&link(&uri, None));
                        let end = if text.ends_with('\n') { "" } else { "\n" };
                        let place = place(&uri);
                        attached.push_str(&format!(
                            "\n\n<resource uri=\"{place}\">\n{text}{end}</resource>"
                        ));
                    }
                    (None, Some(data)) if mime_type.starts_with("image/") => {
                        content.images.push(ImageContent::new(data, mime_type));
                    }
                    _ => {
                        return Err(Error::invalid_params(format!(
                            "the resource {uri} is neither text nor an image; send a link to it"
                        )));
                    }
                }
            }
        }
    }
    content.text.push_str(&attached);
    if content.text.trim().is_empty() && content.images.is_empty() {
        return Err(Error::invalid_params("the prompt is empty"));
    }
    Ok(content)
}

/// Returns a link in the text.
fn link(uri: &str, name: Option<String>) -> String {
    let place = place(uri);
    let name = name.filter(|name| !name.trim().is_empty());
    let last = || place.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&place).to_owned();
    format!("[{}]({place})", name.unwrap_or_else(last))
}

/// Returns the path of a file, or else the address as it is.
fn place(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    // An authority, such as `localhost`, ends at the first slash.
    let path = path.find('/').map_or(path, |at| &path[at..]);
    decoded(path)
}

/// Decodes `%20` and the like. Invalid sequences stay as they are.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_become_text_and_images() {
        let cases = [
            (json!([{ "type": "text", "text": "a" }, { "type": "text", "text": " b" }]), "a b"),
            (
                json!([
                    { "type": "text", "text": "See " },
                    { "type": "resource_link", "uri": "file:///a%20b/c.rs", "name": "c.rs" },
                    { "type": "text", "text": "." },
                ]),
                "See [c.rs](/a b/c.rs).",
            ),
            (
                json!([
                    { "type": "text", "text": "Fix " },
                    { "type": "resource", "resource": { "uri": "file:///x.py", "text": "y = 1" } },
                ]),
                "Fix [x.py](/x.py)\n\n<resource uri=\"/x.py\">\ny = 1\n</resource>",
            ),
            (
                json!([{ "type": "resource_link", "uri": "https://a.example/%zz", "name": " " }]),
                "[%zz](https://a.example/%zz)",
            ),
        ];
        for (blocks, expected) in cases {
            let blocks = blocks.as_array().cloned().unwrap_or_default();
            assert_eq!(convert(blocks).map(|content| content.text), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let cases = [
            (json!([]), "empty"),
            (json!([{ "type": "text", "text": " \n" }]), "empty"),
            (json!([{ "type": "audio", "data": "", "mimeType": "audio/wav" }]), "audio"),
            (json!([{ "type": "video" }]), "video"),
            (json!([7]), "content block"),
            (
                json!([{ "type": "resource", "resource": { "uri": "u:x", "blob": "AA==" } }]),
                "neither text nor an image",
            ),
        ];
        for (blocks, expected) in cases {
            let blocks = blocks.as_array().cloned().unwrap_or_default();
            let error = convert(blocks).expect_err(expected);
            assert_eq!(error.code, Error::INVALID_PARAMS);
            assert!(error.message.contains(expected), "{}", error.message);
        }
    }
}
