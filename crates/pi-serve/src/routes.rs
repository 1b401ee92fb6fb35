//! The table of routes: the method, the path, the right and the reach that each needs, its handler,
//! and what the OpenAPI document says about it.
//!
//! No route is served that is not in the table, and none is in it without a right.

mod openapi;

use std::borrow::Cow;
use std::sync::OnceLock;

use pi_agent::BoxFuture;
use pi_web::http::Method;
use pi_web::server::Routes;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::api::{self, Answer, Call};
use crate::entrance::Right;
use crate::entrance::gate::Purpose;

pub use openapi::document as openapi;

/// The token that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// None: the answer has no data of the user.
    Open,
    /// Any valid token.
    Any,
    /// A token with at least this right.
    Needs(Right),
}

/// How a route treats tokens that are for one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The first variable of the path is the id of a session, which the token must reach.
    Session,
    /// The handler leaves out what the token does not reach.
    Filtered,
    /// The route is for tokens of all sessions only.
    Server,
}

type Handler = fn(Call) -> BoxFuture<'static, Answer>;
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The form of a body.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Json(SchemaOf),
    /// Another type of content.
    Other(&'static str),
    None,
}

/// A row of the table.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) reach: Reach,
    pub(crate) handler: Handler,
    pub(crate) summary: &'static str,
    /// Variables of the query, with descriptions.
    pub(crate) query: &'static [(&'static str, &'static str)],
    pub(crate) body: Form,
    pub(crate) answer: Form,
    /// Status code of a success.
    pub(crate) status: u16,
}

impl Route {
    fn new(
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: Handler,
    ) -> Self {
        let is_session = path.starts_with("/api/v1/sessions/{");
        let reach = if is_session { Reach::Session } else { Reach::Server };
        let (query, body, answer, status) = (&[], Form::None, Form::None, 200);
        Self { method, path, access, reach, handler, summary, query, body, answer, status }
    }

    /// Makes it a route whose handler leaves out what a token does not reach.
    fn filtered(mut self) -> Self {
        self.reach = Reach::Filtered;
        self
    }

    fn query(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Form::Json(SchemaGenerator::subschema_for::<T>);
        self
    }

    fn answers<T: JsonSchema>(mut self) -> Self {
        self.answer = Form::Json(SchemaGenerator::subschema_for::<T>);
        self
    }

    fn answers_with(mut self, content_type: &'static str) -> Self {
        self.answer = Form::Other(content_type);
        self
    }

    fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Returns the purpose of a request to this path, as the entrance needs it.
    pub(crate) fn purpose(path: &str) -> Purpose {
        let is_page = path == "/" || path.starts_with("/page/");
        if is_page { Purpose::Page } else { Purpose::Data }
    }
}

/// Turns an async function into a handler.
macro_rules! handler {
    ($function:path) => {
        |call| Box::pin($function(call))
    };
}

/// Returns all routes.
pub(crate) fn table() -> &'static [Route] {
    static TABLE: OnceLock<Vec<Route>> = OnceLock::new();
    TABLE.get_or_init(|| {
        use Access::{Any, Needs, Open};
        use Right::{Admin, Approve, Drive, View};
        use api::{assets, blobs, diff, entries, events, export, files, health, login, runs};
        use api::{sessions, tokens};
        let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
        let route = Route::new;
        vec![
            route(get.clone(), "/", Open, "The page", handler!(assets::index))
                .answers_with("text/html"),
            route(get.clone(), "/page/{name}", Open, "A file of the page", handler!(assets::file))
                .answers_with("text/javascript"),
            route(get.clone(), "/healthz", Open, "Answers that the server is alive", handler!(health::healthz))
                .answers::<health::Health>(),
            route(get.clone(), "/metrics", Needs(View), "Counters, as Prometheus reads them", handler!(health::metrics))
                .answers_with("text/plain"),
            route(get.clone(), "/api/v1/openapi.json", Needs(View), "This document", handler!(openapi::get))
                .filtered()
                .answers_with("application/json"),
            route(post.clone(), "/api/v1/login", Open, "Exchanges a token for the cookie of a browser", handler!(login::login))
                .takes::<login::Login>()
                .answers::<login::Me>(),
            route(post.clone(), "/api/v1/logout", Any, "Ends the login of a browser", handler!(login::logout))
                .filtered()
                .status(204),
            route(get.clone(), "/api/v1/me", Any, "The sender of the request, and the server", handler!(login::me))
                .filtered()
                .answers::<login::Me>(),
            route(get.clone(), "/api/v1/sessions", Needs(View), "Lists or searches sessions: those that wait or run, then the newest", handler!(sessions::list))
                .filtered()
                .query(&[
                    ("limit", "sessions of a page, 50 without it"),
                    ("cursor", "`next` of the page before"),
                    ("q", "words that must occur in the session"),
                    ("cwd", "working directory"),
                ])
                .answers::<sessions::SessionList>(),
            route(post.clone(), "/api/v1/sessions", Needs(Drive), "Starts a session", handler!(sessions::create))
                .takes::<sessions::NewSession>()
                .answers::<crate::summary::Summary>()
                .status(201),
            route(get.clone(), "/api/v1/sessions/{id}", Needs(View), "A session with its state", handler!(sessions::get))
                .answers::<sessions::Details>(),
            route(delete.clone(), "/api/v1/sessions/{id}", Needs(Admin), "Deletes a session with what belongs to it", handler!(sessions::delete))
                .status(204),
            route(get.clone(), "/api/v1/sessions/{id}/entries", Needs(View), "A window of the log; the last entries without `after` and `before`", handler!(entries::list))
                .query(&[
                    ("after", "the entries that follow this number"),
                    ("before", "the entries before this number"),
                    ("limit", "entries of the window, 100 without it"),
                    ("view", "`html`: with markup"),
                ])
                .answers_with("application/json"),
            route(get.clone(), "/api/v1/sessions/{id}/events", Needs(View), "Streams the entries and events of a session; `Last-Event-ID` resumes", handler!(events::of_session))
                .query(&[
                    ("since", "the last number that the client has seen, -1 for all; without it, what happens from now on"),
                    ("view", "`html`: entries with markup"),
                ])
                .answers_with("text/event-stream"),
            route(get.clone(), "/api/v1/sessions/{id}/blobs/{hash}", Needs(View), "An image or a long text by the SHA-256 of its content", handler!(blobs::get))
                .answers_with("application/octet-stream"),
            route(get.clone(), "/api/v1/sessions/{id}/export", Needs(View), "The session as a page, without secrets", handler!(export::page))
                .answers_with("text/html"),
            route(get.clone(), "/api/v1/sessions/{id}/outline", Needs(View), "The tree of a session in short", handler!(export::outline))
                .answers_with("application/json"),
            route(get.clone(), "/api/v1/sessions/{id}/diff", Needs(View), "File changes, from checkpoints", handler!(diff::get))
                .query(&[("scope", "`run`, the last one, or `session`")])
                .answers_with("application/json"),
            route(get.clone(), "/api/v1/sessions/{id}/file", Needs(View), "A file below the working directory of an open session, as far as its agent may read it", handler!(files::file))
                .query(&[("path", "path below the working directory")])
                .answers::<files::FileText>(),
            route(get.clone(), "/api/v1/sessions/{id}/files", Needs(View), "Names of files for completions", handler!(files::names))
                .query(&[("q", "letters of the path, in this order")])
                .answers::<files::FileNames>(),
            route(get.clone(), "/api/v1/directories", Needs(View), "Directories in which sessions can be started", handler!(files::directories))
                .answers::<files::DirectoryList>(),
            route(get.clone(), "/api/v1/events", Needs(View), "Streams the changes of the lists: sessions and questions", handler!(events::of_server))
                .filtered()
                .answers_with("text/event-stream"),
            route(get.clone(), "/api/v1/rpc", Needs(View), "The protocol of RPC mode for several sessions, over a WebSocket", handler!(crate::socket::connection::open))
                .filtered()
                .status(101),
            route(post.clone(), "/api/stream", Needs(Drive), "Streams the answer of a model, as `streamProxy` of pi-agent-core asks for it", handler!(crate::api::proxy::stream))
                .answers_with("text/event-stream"),
            route(get.clone(), "/acp", Needs(Admin), "The Agent Client Protocol over a WebSocket", handler!(crate::acp::open))
                .status(101),
            route(post.clone(), "/mcp", Needs(Approve), "The Model Context Protocol", handler!(crate::mcp::respond)),
            route(get.clone(), "/mcp", Needs(Approve), "Messages of the Model Context Protocol", handler!(crate::mcp::respond))
                .answers_with("text/event-stream"),
            route(delete.clone(), "/mcp", Needs(Approve), "Ends a session of the Model Context Protocol", handler!(crate::mcp::respond)),
            route(get.clone(), "/api/v1/needs-you", Needs(View), "Questions that wait for an answer, in all sessions", handler!(sessions::needs_you))
                .filtered()
                .answers::<sessions::NeedsYou>(),
            route(get.clone(), "/api/v1/runs", Needs(View), "Lists the runs of `pi run`, the newest first", handler!(runs::list))
                .query(&[
                    ("limit", "runs of a page, 50 without it"),
                    ("cursor", "`next` of the page before"),
                ])
                .answers::<runs::RunList>(),
            route(get.clone(), "/api/v1/runs/{id}", Needs(View), "A run: contract, state, pending actions, report", handler!(runs::get))
                .answers::<runs::RunDetails>(),
            route(get, "/api/v1/tokens", Needs(Admin), "Lists the tokens, without their values", handler!(tokens::list))
                .answers::<tokens::TokenList>(),
            route(post, "/api/v1/tokens", Needs(Admin), "Adds a token and returns its value once", handler!(tokens::add))
                .takes::<tokens::Wish>()
                .answers::<tokens::Added>()
                .status(201),
            route(delete, "/api/v1/tokens/{name}", Needs(Admin), "Revokes a token; its open connections end", handler!(tokens::revoke))
                .status(204),
        ]
    })
}

/// Returns the routes for lookups.
pub(crate) fn routes() -> Routes<&'static Route> {
    Routes::new(table().iter().map(|route| (route.method.clone(), route.path, route)))
}

/// Decodes a variable of a path. `None` for what cannot be the name of anything: empty and hidden
/// names, separators, and characters that are not ASCII letters, digits, `.`, `-` or `_`.
pub(crate) fn decode(param: &str) -> Option<String> {
    let bytes: Cow<'_, [u8]> = percent_decode(param)?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let is_fit = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
    let is_name = (1..=128).contains(&text.len())
        && !text.starts_with('.')
        && !text.contains("..")
        && text.chars().all(is_fit);
    is_name.then(|| text.to_owned())
}

fn percent_decode(text: &str) -> Option<Cow<'_, [u8]>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                decoded.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => decoded.push(byte),
        }
    }
    Some(Cow::Owned(decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_names() {
        for name in ["a", "0199-ab_c.d", "A%2Db"] {
            assert!(decode(name).is_some(), "{name}");
        }
        for hostile in [
            "",
            ".",
            "..",
            "...",
            ".hidden",
            "a..b",
            "a%2Fb",
            "%2e%2e",
            "%2e%2e%2f",
            "a%00",
            "a%0a",
            "%",
            "%2",
            "%zz",
            "a%5cb",
            "a b",
            "ä",
            "%c3%a4",
            "a:b",
            "~",
            "%252e",
        ] {
            assert_eq!(decode(hostile), None, "{hostile}");
        }
        assert_eq!(decode(&"a".repeat(129)), None);
    }

    #[test]
    fn no_route_occurs_twice_and_every_one_has_a_summary() {
        let mut seen = std::collections::BTreeSet::new();
        for route in table() {
            assert!(seen.insert((route.method.to_string(), route.path)), "{}", route.path);
            assert!(!route.summary.is_empty(), "{}", route.path);
            if route.reach == Reach::Session {
                assert!(route.path.contains("{id}"), "{}", route.path);
            }
        }
    }
}
