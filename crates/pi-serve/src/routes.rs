//! The table of routes: the method, the path, the right and the reach that each needs, its handler,
//! and what the OpenAPI document says about it.
//!
//! No route is served that is not in the table, and none is in it without a right.

use std::borrow::Cow;
use std::sync::OnceLock;

use pi_agent::BoxFuture;
use pi_web::http::Method;
use pi_web::server::Routes;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::api::{self, Answer, Call};
use crate::entrance::Right;
use crate::entrance::gate::Purpose;

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
        use Right::{Admin, Drive, View};
        let get = Method::GET;
        let route = Route::new;
        vec![
            route(
                get.clone(),
                "/healthz",
                Open,
                "Answers that the server is alive",
                handler!(api::health::healthz),
            )
            .answers::<api::health::Health>(),
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
