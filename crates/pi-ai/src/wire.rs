//! Wire formats: how a request is written and an answer is read, without I/O.
//!
//! One module per format, each with two pure halves. *Encode* turns a [`Call`] into an
//! [`HttpRequest`]; a [`Decoder`] is fed the bytes of the answer and writes into a
//! [`MessageBuilder`]. Vendors are data (base URL, compat flags, headers); formats are code.
//!
//! Nothing here opens a connection or knows a key's origin; `http` does the first, `client` the
//! second.

pub mod anthropic;
mod call;
pub mod completions;
mod copilot;
mod error_text;
mod first;
pub mod google;
mod identity;
mod ids;
pub mod responses;
mod sampling;
mod sse_decoder;
mod strict;
mod text;
mod transform;

use pi_protocol::MessageBuilder;
use serde_json::Value;

pub use call::{Call, EnvLookup, Headers, KeyScheme};
pub use error_text::HttpFailure;
pub use sse_decoder::{EventDecoder, SseDecoder};
pub use transform::transform_messages;

/// A wire format.
pub trait WireFormat: Sync {
    /// Its name in model records.
    fn api(&self) -> &'static str;

    /// Writes the request.
    fn encode(&self, call: &Call) -> Result<HttpRequest, EncodeError>;

    /// A decoder for the answer to `call`.
    fn decoder(&self, call: &Call) -> Box<dyn Decoder>;

    /// The effort that the request asks for, in the provider's words, if it must be told again
    /// when this answer is replayed.
    fn thinking_level(&self, _call: &Call) -> Option<String> {
        None
    }

    /// What to tell the user about an answer that is not 2xx.
    fn error_text(&self, call: &Call, failure: &HttpFailure) -> String;

    /// A second request to make after this failure, with less in it. For endpoints that refuse
    /// something optional that cannot be known beforehand.
    fn fallback(&self, _call: &Call, _failure: &HttpFailure) -> Option<Fallback> {
        None
    }
}

/// A second try with less in the request.
#[derive(Debug)]
pub struct Fallback {
    /// The call to make instead.
    pub call: Call,
    /// What the message records about it.
    pub diagnostic: pi_protocol::Diagnostic,
}

/// Every format this crate speaks.
pub static FORMATS: &[&dyn WireFormat] = &[
    &anthropic::AnthropicMessages,
    &completions::OpenAiCompletions,
    &responses::OpenAiResponses,
    &google::GoogleGenerativeAi,
];

/// The format with this name.
pub fn format(api: &str) -> Option<&'static dyn WireFormat> {
    FORMATS.iter().copied().find(|format| format.api() == api)
}

/// A request ready to be sent: always a POST with a JSON body.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The whole URL.
    pub url: String,
    /// Headers of the format, authentication included.
    pub headers: Headers,
    /// The body.
    pub body: Value,
}

/// Reads the bytes of an answer.
///
/// Contract: however the bytes are cut, the same events and the same message come out. Errors go
/// into the builder as its terminal event.
pub trait Decoder: Send {
    /// Reads on.
    fn push(&mut self, bytes: &[u8], out: &mut MessageBuilder);

    /// The body ended. If the answer is not complete, this is an error.
    fn finish(&mut self, out: &mut MessageBuilder);
}

/// The request cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no key, and no header that takes its place.
    #[error("No API key for provider: {0}")]
    MissingKey(String),
    /// A tool demands something that this model or endpoint does not offer.
    #[error("Tool \"{tool}\" requires JSON-schema constrained sampling, but {reason}.")]
    StrictTool {
        /// The tool's name.
        tool: String,
        /// Why it cannot be.
        reason: String,
    },
    /// A tool wants a grammar that cannot be sent.
    #[error("Tool \"{tool}\" cannot use grammar constrained sampling: {reason}.")]
    GrammarTool {
        /// The tool's name.
        tool: String,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// The model record asks for something the format does not know.
    #[error("{0}")]
    BadModel(String),
    /// The conversation has nothing in it that could be sent.
    #[error("contents are required")]
    NoContents,
}

/// The answer cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The provider said so, in these words.
    #[error("{0}")]
    Provider(String),
    /// What arrived is not what the format prescribes.
    #[error("Could not read the provider's answer: {what}: {problem}; received: {received}")]
    Malformed {
        /// Which part.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
        /// The beginning of it.
        received: String,
    },
    /// The answer ended too early.
    #[error("{0}")]
    Truncated(&'static str),
    /// An event without an end.
    #[error(transparent)]
    TooLong(#[from] crate::sse::EventTooLong),
    /// A hook of the request panicked.
    #[error(transparent)]
    Hook(#[from] crate::HookPanicked),
}

impl StreamError {
    /// What arrived is not the JSON it should be.
    pub fn malformed(what: &'static str, problem: &impl ToString, received: &str) -> Self {
        let received = error_text::shorten(received, 200);
        Self::Malformed { what, problem: problem.to_string(), received }
    }
}
