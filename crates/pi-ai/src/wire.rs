//! Wire formats: encoding of requests and decoding of answers, without I/O.
//!
//! One module per format, each with two pure halves. The encoder turns a [`Call`] into an
//! [`HttpRequest`]; a [`Decoder`] is fed the bytes of the response and writes into a
//! [`MessageBuilder`]. Vendors are data (base URL, compat flags, headers); formats are code.
//!
//! This module must not open a connection (see `http`) or look up a key (see `client`).

mod anthropic;
mod azure;
mod bedrock;
mod call;
mod claude;
mod codex;
mod completions;
mod copilot;
mod document;
mod error_text;
mod first;
mod google;
mod identity;
mod ids;
mod mistral;
mod output;
mod pi_messages;
mod responses;
mod sampling;
pub mod socket;
mod sse_decoder;
mod strict;
mod text;
mod transform;

use pi_protocol::{MessageBuilder, Model};
use pi_web::aws::Signing;
use serde_json::Value;

pub use call::{Call, EnvLookup, Headers};
pub use error_text::HttpFailure;
pub(crate) use error_text::shorten;
#[cfg(feature = "http")]
pub(crate) use output::without_schema;
pub use output::{OutputSupport, enforces_output};
pub use sse_decoder::{EventDecoder, SseDecoder};
pub use transform::transform_messages;

/// A wire format: its name, and its functions.
#[derive(Debug)]
#[non_exhaustive]
pub struct WireFormat {
    /// The name of the format in model records.
    pub api: &'static str,
    /// Encodes the request of a call.
    pub encode: fn(&Call) -> Result<HttpRequest, EncodeError>,
    /// Creates a decoder for the answer to a call.
    pub decoder: fn(&Call) -> Box<dyn Decoder>,
    /// Returns the error text for a response that is not 2xx.
    pub error_text: fn(&Call, &HttpFailure) -> String,
    /// Returns the headers to send, given those of the encoded request. By default, model and
    /// options may change all of them.
    pub headers: fn(&Call, Headers) -> Headers,
    /// Returns the requested effort, as the provider calls it, if later requests must repeat it
    /// together with this answer.
    pub thinking_level: fn(&Call) -> Option<String>,
    /// Returns true if a failure does not pass by itself, although its status says so.
    pub is_final: fn(&HttpFailure) -> bool,
    /// Returns the request for a WebSocket, if the format can be sent over one. The argument is the
    /// final request over HTTP.
    pub socket: fn(&Call, &HttpRequest) -> Option<socket::SocketRequest>,
    /// Returns data about a response that is not 2xx, for the message.
    pub diagnostic: fn(&HttpFailure) -> Option<pi_protocol::Diagnostic>,
    /// Returns the ability of a model to constrain its final answer to a JSON Schema.
    pub output_support: fn(&Model) -> OutputSupport,
    /// Returns a reduced request to send after this failure. For endpoints that reject an optional
    /// feature, which cannot be known beforehand.
    pub fallback: fn(&Call, &HttpFailure) -> Option<Fallback>,
}

impl WireFormat {
    /// Creates a format with what each must have, and the defaults of the rest.
    const fn new(
        api: &'static str,
        encode: fn(&Call) -> Result<HttpRequest, EncodeError>,
        decoder: fn(&Call) -> Box<dyn Decoder>,
        error_text: fn(&Call, &HttpFailure) -> String,
    ) -> Self {
        Self {
            api,
            encode,
            decoder,
            error_text,
            headers: Call::headers,
            thinking_level: |_| None,
            is_final: |_| false,
            socket: |_, _| None,
            diagnostic: |_| None,
            output_support: |_| OutputSupport::Unsupported,
            fallback: |_, _| None,
        }
    }
}

/// A reduced request after a failure.
#[derive(Debug)]
pub struct Fallback {
    /// The call to send instead.
    pub call: Call,
    /// The diagnostic for the message.
    pub diagnostic: pi_protocol::Diagnostic,
}

/// All supported formats.
pub static FORMATS: &[&WireFormat] = &[
    &anthropic::FORMAT,
    &completions::FORMAT,
    &responses::FORMAT,
    &azure::FORMAT,
    &bedrock::FORMAT,
    &mistral::FORMAT,
    &codex::FORMAT,
    &pi_messages::FORMAT,
    &google::GENERATIVE_AI,
    &google::VERTEX,
];

/// Finds the format with this name.
pub fn format(api: &str) -> Option<&'static WireFormat> {
    FORMATS.iter().copied().find(|format| format.api == api)
}

/// An encoded request, which is always a POST with a JSON body.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The URL with path and query.
    pub url: String,
    /// The headers of the format, authentication included.
    pub headers: Headers,
    /// The JSON body.
    pub body: Value,
    /// The signature to add when the request is sent.
    pub signing: Option<Signing>,
}

impl HttpRequest {
    /// Creates a request without a signature.
    pub fn new(url: impl Into<String>, headers: Headers, body: impl Into<Value>) -> Self {
        Self { url: url.into(), headers, body: body.into(), signing: None }
    }
}

/// Decodes the bytes of a response.
///
/// Contract: events and message do not depend on how the bytes are cut. An error is the terminal
/// event of the builder.
pub trait Decoder: Send {
    /// Receives the headers of the response, before its bytes.
    fn head(&mut self, _headers: &Headers) {}

    /// Decodes the next bytes.
    fn push(&mut self, bytes: &[u8], out: &mut MessageBuilder);

    /// Ends the body. An incomplete answer becomes an error.
    fn finish(&mut self, out: &mut MessageBuilder);
}

/// A request cannot be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no key and no header that replaces it.
    #[error("No API key for provider: {0}")]
    MissingKey(String),
    /// A tool requires a strict schema that the endpoint does not support.
    #[error("Tool \"{tool}\" requires JSON-schema constrained sampling, but {reason}.")]
    StrictTool {
        /// Name of the tool.
        tool: String,
        /// The reason, as a part of the error text.
        reason: String,
    },
    /// A tool has a grammar that cannot be sent.
    #[error("Tool \"{tool}\" cannot use grammar constrained sampling: {reason}.")]
    GrammarTool {
        /// Name of the tool.
        tool: String,
        /// The reason, as a part of the error text.
        reason: &'static str,
    },
    /// The model record has a value that the format does not support.
    #[error("{0}")]
    BadModel(String),
    /// The key is not one that the provider accepts.
    #[error("{0}")]
    BadKey(String),
    /// A setting or a credential of the provider is missing or invalid. The text says what to do.
    #[error("{0}")]
    NotConfigured(String),
    /// The provider does not accept images of this type.
    #[error("Unknown image type: {0}. Convert the image to PNG, JPEG, GIF or WebP.")]
    ImageType(String),
    /// The conversation has no content to send.
    #[error("contents are required")]
    NoContents,
}

/// An answer cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The provider reported an error.
    #[error("{0}")]
    Provider(String),
    /// The response violates the format.
    #[error("Could not read the provider's answer: {what}: {problem}; received: {received}")]
    Malformed {
        /// The part of the response.
        what: &'static str,
        /// The parse error.
        problem: String,
        /// The beginning of the invalid text.
        received: String,
    },
    /// The response ended too early.
    #[error("{0}")]
    Truncated(&'static str),
    /// An event is too long.
    #[error(transparent)]
    TooLong(#[from] pi_web::sse::EventTooLong),
    /// A hook of the request panicked.
    #[error(transparent)]
    Hook(#[from] crate::HookPanicked),
}

impl StreamError {
    /// Creates the error for an invalid part of a response.
    pub fn malformed(what: &'static str, problem: &impl ToString, received: &str) -> Self {
        let received = error_text::shorten(received, 200);
        Self::Malformed { what, problem: problem.to_string(), received }
    }
}
