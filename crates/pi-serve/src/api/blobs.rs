//! `/api/v1/sessions/{id}/blobs/{hash}`: images and long texts of a session by the SHA-256 of their
//! content. A hash that does not occur in the session names nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::{AgentMessage, Entry, EntryBody, Message, MessageContent, UserBlock};
use pi_session::Session;
use pi_web::http::Response;
use pi_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use pi_web::server::Body;
use sha2::{Digest as _, Sha256};

use super::entries::with_session;
use super::{Answer, ApiError, Call};

/// Images that browsers show. Everything else, such as SVG with scripts, is a download.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The shortest text that has a hash.
const LONG: usize = 4096;

struct Blob {
    content_type: String,
    bytes: Vec<u8>,
}

/// Answers with the content of a hash.
pub(crate) async fn get(call: Call) -> Answer {
    let (id, hash) = (call.param(0)?.to_owned(), call.param(1)?.to_owned());
    let is_hash = hash.len() == 64
        && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if !is_hash {
        return Err(ApiError::not_found());
    }
    let found = with_session(&call.state, &id, move |log, _| find(log, &hash)).await?;
    let blob = found.ok_or_else(ApiError::not_found)?;
    Ok(response(blob))
}

fn response(blob: Blob) -> Response<Body> {
    let mut response = Response::new(Body::whole(blob.bytes));
    let headers = response.headers_mut();
    let shown = SHOWN.into_iter().find(|shown| *shown == blob.content_type);
    let content_type = match (shown, blob.content_type.as_str()) {
        (Some(shown), _) => shown,
        (None, "text/plain") => "text/plain; charset=utf-8",
        (None, _) => "application/octet-stream",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if shown.is_none() {
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
    // The content of a hash never changes.
    let cache = HeaderValue::from_static("private, max-age=31536000, immutable");
    headers.insert(CACHE_CONTROL, cache);
    response
}

/// Finds the content with a hash in the messages of a session.
fn find(log: &Session, hash: &str) -> Option<Blob> {
    // Only lines that can have one are parsed.
    let lines = log.raw_entries(0..log.len()).filter_map(Result::ok);
    let lines = lines.filter(|(_, line)| line.len() >= LONG || line.contains("\"image\""));
    lines.filter_map(|(_, line)| find_in(&line, hash)).next()
}

fn find_in(line: &str, hash: &str) -> Option<Blob> {
    let entry: Entry = serde_json::from_str(line).ok()?;
    let EntryBody::Message(AgentMessage::Llm(message)) = &entry.body else { return None };
    let blocks = match message {
        Message::User(user) => match &user.content {
            MessageContent::Blocks(blocks) => blocks,
            MessageContent::Text(_) => return None,
        },
        Message::ToolResult(result) => &result.content,
        _ => return None,
    };
    blocks.iter().find_map(|block| match block {
        UserBlock::Image(image) => {
            let bytes = STANDARD.decode(&image.data).ok()?;
            has_hash(&bytes, hash).then(|| Blob { content_type: image.mime_type.clone(), bytes })
        }
        UserBlock::Text(text) if text.text.len() >= LONG => {
            let bytes = text.text.as_bytes();
            has_hash(bytes, hash)
                .then(|| Blob { content_type: "text/plain".to_owned(), bytes: bytes.to_vec() })
        }
        _ => None,
    })
}

fn has_hash(bytes: &[u8], hash: &str) -> bool {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>() == hash
}
